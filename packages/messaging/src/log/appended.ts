import type { SafeTelemetry } from '@mortise/redis';
import { BATCH, DROPPED, DUPLICATES, POSTED } from '../telemetry/metrics.js';
import type { IdRange } from './entry.js';
import { toRange } from './entry.js';

/** The result of a message that was appended to a log. */
export interface Appended {
  /** The id of the message in its chat or mailbox. */
  readonly id: number;
  /**
   * Whether the sender's id was known. Then nothing was stored, and `id` is that of the first call. Also true if ioredis has
   * resent this call after a lost reply.
   */
  readonly isDuplicate: boolean;
  /**
   * Messages that the log dropped to stay within its limits before all had acked them. Messages of one script call report
   * the same range. Absent if there are none.
   */
  readonly dropped?: IdRange;
}

/**
 * The results of one script call that appended messages, and their counts.
 *
 * @param replies For each message its id, -id of a duplicate, or a refusal; then the dropped ids, if any.
 * @param refuse The error for a refusal: null or 0.
 */
export function toAppended<Message extends { readonly hasId: boolean }>(
  messages: readonly Message[],
  replies: readonly (number | null)[],
  telemetry: SafeTelemetry | undefined,
  refuse: (message: Message, refusal: 0 | null) => Error,
): (Appended | Error)[] {
  const dropped = toRange(replies[messages.length] ?? 0, replies[messages.length + 1] ?? 0);
  let posted = 0;
  let duplicates = 0;
  const results = messages.map((message, index) => {
    const id = replies[index] ?? null;
    if (id === null || id === 0) return refuse(message, id);
    // Without an id, only a resend of this call can have stored it before.
    const isDuplicate = id < 0 && message.hasId;
    if (isDuplicate) duplicates += 1;
    else posted += 1;
    return { id: Math.abs(id), isDuplicate, ...(dropped && { dropped }) };
  });
  telemetry?.count(POSTED, posted);
  telemetry?.count(DUPLICATES, duplicates);
  if (dropped) telemetry?.count(DROPPED, dropped.toId + 1 - dropped.fromId);
  if (posted + duplicates > 0) telemetry?.record(BATCH, posted + duplicates);
  return results;
}
