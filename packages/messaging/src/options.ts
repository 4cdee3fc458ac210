import { requireDuration, requireInteger, requireOneOf } from '@mortise/redis';

/** Bounds of every mailbox. */
export interface MailboxesOptions {
  /** The most messages in a mailbox, 1 to 1,000,000; the oldest are dropped, visibly. Default 10,000. */
  readonly maxMessages?: number;
  /** The most bytes of messages in a mailbox, up to 256 MiB; the oldest are dropped, visibly. Default 16 MiB. */
  readonly maxBytes?: number;
  /** The most bytes of one body, as JSON in UTF-8, up to 8 MiB and not above `maxBytes`. Default 64 KiB. */
  readonly maxBodyBytes?: number;
  /**
   * A message is kept for so long, in ms; after that the next `send` drops it, and without one the mailbox is emptied.
   * Default 30 days.
   */
  readonly retentionMs?: number;
  /** A sender's id is remembered for so long, in ms, but not more than the last 10,000 of a mailbox. Default 10 minutes. */
  readonly dedupMs?: number;
  /** Keeps several applications apart in one Redis. Default `mortise`. */
  readonly prefix?: string;
}

/** Of one message. */
export interface SendOptions {
  /** Who sends: any string of 1 to 1,024 bytes. */
  readonly from: string;
  /** Identifies the message: sending it again within `dedupMs` does nothing. Default: a new UUID for each call. */
  readonly id?: string;
}

/** Of one `receive`. */
export interface ReceiveOptions {
  /** The most messages to return, 1 to 1,000. Default 100. */
  readonly limit?: number;
  /** From which end: the oldest first, or the latest first. Default `oldest`. */
  readonly order?: 'oldest' | 'latest';
  /** Waits for so long, in ms, while the mailbox is empty; `Infinity`: until `signal`. Default 0. */
  readonly waitMs?: number;
  /** Ends the wait: `receive` then rejects with the reason of the signal. */
  readonly signal?: AbortSignal;
}

const DAY_MS = 86_400_000;
const KIB = 1_024;
const MIB = 1_024 * KIB;

export const DEFAULTS = {
  maxMessages: 10_000,
  maxBytes: 16 * MIB,
  maxBodyBytes: 64 * KIB,
  retentionMs: 30 * DAY_MS,
  dedupMs: 600_000,
  limit: 100,
  order: 'oldest',
  waitMs: 0,
} as const;

/** The numbering of a mailbox outlives its messages by so long, so that a late ack doesn't meet new messages. */
const NUMBERING_MS = 7 * DAY_MS;
const MAX_MS = 3_650 * DAY_MS;

export interface Limits {
  readonly maxMessages: number;
  readonly maxBytes: number;
  readonly maxBodyBytes: number;
  readonly retentionMs: number;
  readonly dedupMs: number;
  readonly headMs: number;
}

export function resolveMailboxesOptions(options: MailboxesOptions): Limits {
  const maxBytes = requireInteger('maxBytes', options.maxBytes ?? DEFAULTS.maxBytes, {
    min: KIB,
    max: 256 * MIB,
  });
  const retentionMs = milliseconds('retentionMs', options.retentionMs ?? DEFAULTS.retentionMs);
  const dedupMs = milliseconds('dedupMs', options.dedupMs ?? DEFAULTS.dedupMs);
  return {
    maxMessages: requireInteger('maxMessages', options.maxMessages ?? DEFAULTS.maxMessages, {
      min: 1,
      max: 1_000_000,
    }),
    maxBytes,
    maxBodyBytes: requireInteger('maxBodyBytes', options.maxBodyBytes ?? DEFAULTS.maxBodyBytes, {
      min: 1,
      max: Math.min(8 * MIB, maxBytes),
    }),
    retentionMs,
    dedupMs,
    headMs: retentionMs + Math.max(dedupMs, NUMBERING_MS),
  };
}

export function resolveReceiveOptions(options: ReceiveOptions): {
  limit: number;
  isLatest: boolean;
  waitMs: number;
} {
  return {
    limit: requireInteger('limit', options.limit ?? DEFAULTS.limit, { min: 1, max: 1_000 }),
    isLatest: requireOneOf('order', options.order ?? DEFAULTS.order, ['oldest', 'latest']) === 'latest',
    waitMs: requireDuration('waitMs', options.waitMs ?? DEFAULTS.waitMs, { min: 0, max: Infinity }),
  };
}

function milliseconds(option: string, value: number): number {
  return Math.ceil(requireDuration(option, value, { min: 100, max: MAX_MS }));
}
