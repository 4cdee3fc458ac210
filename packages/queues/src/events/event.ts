/** Events of tasks and of the queue, and their binary form in the stream; see task.events.part.lua. */
import type { TaskError } from '../task-error.js';
import { awaitedEvent } from '../task/awaited-event.js';
import { readError } from '../task/stored-error.js';
import { decodeTaskId } from '../task/task-id.js';

const TYPES = {
  E: 'enqueued',
  A: 'started',
  S: 'succeeded',
  R: 'retrying',
  H: 'retrying',
  D: 'dead',
  C: 'cancelled',
  W: 'waiting',
  P: 'progress',
  N: 'delivered',
  Y: 'ready',
  T: 'rescheduled',
  K: 'reprioritized',
  V: 'changed',
  X: 'removed',
  Z: 'paused',
  U: 'resumed',
} as const;

export type QueueEventType = (typeof TYPES)[keyof typeof TYPES] | 'gap' | 'unknown';

export interface QueueEvent {
  readonly type: QueueEventType;
  /** The position of this event: `events({ after: cursor })` continues after it. */
  readonly cursor: string;
  /** ms since the epoch, by the server's clock. */
  readonly at: number;
  /** The id of the task; absent for an event of the queue. */
  readonly id?: string;
  /** The name of an enqueued task. */
  readonly name?: string;
  /** The name of the event that was `delivered`, or for which a `retrying` task waits. */
  readonly event?: string;
  /** The attempt that started or ended. */
  readonly attempt?: number;
  /** Why the task is retrying, dead or cancelled: the first 512 bytes, without the stack. */
  readonly error?: Omit<TaskError, 'stack'>;
  /** The value of `ctx.progress`; absent if it has more than 512 bytes. */
  readonly progress?: unknown;
  /** For a `gap`: number of events that were trimmed before they were read, if known. */
  readonly missed?: number;
}

/** A decoded event and its number. */
export interface NumberedEvent {
  readonly number: number;
  /** `layer`: an event of the BullMQ layer, JSON. */
  readonly fields: Omit<QueueEvent, 'cursor'> & { readonly layer?: string };
}

/** The events of an entry, oldest first, and the number of the first one. */
export function readEntry(last: number, entry: Buffer): { first: number; events: NumberedEvent[] } {
  const at = entry.readDoubleBE(0);
  const found: NumberedEvent['fields'][] = [];
  let position = 8;
  const take = (): Buffer => {
    const from = position + 2;
    position = from + entry.readUInt16BE(position);
    return entry.subarray(from, position);
  };
  while (position < entry.length) {
    const kind = String.fromCharCode(entry[position]!);
    position += 1;
    const id = take();
    const attempt = entry.readUInt16BE(position);
    position += 2;
    found.push({
      // A later version may have more kinds.
      type: TYPES[kind as keyof typeof TYPES] ?? 'unknown',
      at,
      ...(id.length > 0 && { id: decodeTaskId(id) }),
      ...(attempt > 0 && { attempt }),
      ...readText(kind, take()),
    });
  }
  const first = last - found.length + 1;
  return { first, events: found.map((fields, index) => ({ number: first + index, fields })) };
}

function readText(
  kind: string,
  text: Buffer,
): Pick<NumberedEvent['fields'], 'name' | 'event' | 'error' | 'progress' | 'layer'> {
  if (text.length === 0) return {};
  if (kind === 'E') return { name: text.toString() };
  if (kind === 'N') return { event: text.toString() };
  if (kind === 'B') return { layer: text.toString() };
  if (kind === 'P') return { progress: JSON.parse(text.toString()) as unknown };
  const event = awaitedEvent(text.toString());
  if (event !== undefined) return { event };
  // The text may have been cut inside a character.
  const { stack: _, ...error } = readError(text.toString().replace(/\uFFFD$/, ''), kind === 'C');
  return { error };
}
