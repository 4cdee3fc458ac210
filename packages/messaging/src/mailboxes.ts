/**
 * Messages to single recipients, kept until the recipient acks them.
 *
 * A mailbox is a LIST of entries with dense ids and a small HASH. The id is taken and the entry stored in one script,
 * so nobody sees message n + 1 before n and no lock is needed. A STREAM was rejected: it takes 4.3 KB as soon as it exists
 * and its ids have gaps; a ZSET takes 288 B for the message that takes 172 here. What was acked is freed at once,
 * so what the list holds is what is unread, and the id before its first entry is `last - length`.
 */
import { Coalescer, encodeName, requireClient, requireInteger, requireName, WaiterHub } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { v7 as uuid } from 'uuid';
import { BodyTooLargeError, UnknownMessageError } from './errors.js';
import { MessagingKeys } from './keys.js';
import type { MailboxKeys } from './keys.js';
import { toMessage, toPayload, toRange } from './message.js';
import type { IdRange, Message } from './message.js';
import { resolveMailboxesOptions, resolveReceiveOptions } from './options.js';
import type { Limits, MailboxesOptions, ReceiveOptions, SendOptions } from './options.js';
import { mailboxAck, mailboxReceive, mailboxSend, mailboxStatus } from './scripts.gen.js';

/** A message for `sendMany`. */
export interface Outgoing<Body = unknown> extends SendOptions {
  readonly recipient: string;
  readonly body: Body;
}

/** What became of a message that was sent. */
export interface SendResult {
  /** The id of the message in the recipient's mailbox. */
  readonly id: number;
  /** True when the sender's id was known: nothing was sent, and `id` is that of the first time. */
  readonly isDuplicate: boolean;
  /** Unread messages that the mailbox dropped to take this one. Absent when there are none. */
  readonly dropped?: IdRange;
}

/** A mailbox in numbers. */
export interface MailboxStatus {
  /** Messages that are not acked: exactly those that `receive` returns. */
  readonly unread: number;
  /** Messages that are stored: as many as are unread, since acking frees. */
  readonly size: number;
  /** Bytes of the stored messages, with 30 to 50 per message for id, time and sender. */
  readonly sizeBytes: number;
  /** The id of the newest message, acked or not; 0 when there was none. */
  readonly lastId: number;
  /** Everything up to this id is acked; 0 at the beginning. */
  readonly ackedId: number;
  /** Messages behind `ackedId` that were dropped unread, or null. */
  readonly dropped: IdRange | null;
  /** When the mailbox got its newest message, in ms since 1970, or null. */
  readonly lastReceivedAt: number | null;
  /** When the oldest unread message was sent, or null. */
  readonly oldestUnreadAt: number | null;
  /** Tells one numbering from the next: ids begin anew after a mailbox was forgotten. Null when there is no mailbox. */
  readonly epoch: number | null;
}

interface Request {
  readonly id: string;
  readonly payload: string;
}

/** Messages, and bytes, in one script call: about 1 ms of the server. */
const MAX_BATCH = { messages: 200, bytes: 1_048_576 };
/** Sender's ids in one of two generations. */
const MAX_IDS = 10_000;
/** A wake-up may be lost with its connection; a waiting `receive` looks again after so long. */
const RECHECK_MS = 5_000;

let waiters = 0;

/** The mailboxes of many recipients; `Body` is the type of what they carry. */
export class Mailboxes<Body = unknown> {
  readonly #redis: RedisClient;
  readonly #keys: MessagingKeys;
  readonly #limits: Limits;
  readonly #hub: WaiterHub;
  readonly #sends: Coalescer<string, Request, SendResult>;
  readonly #acks: Coalescer<string, number | 'all', number>;

  /** Sends nothing. Throws TypeError or RangeError for options that are out of range. */
  constructor(redis: RedisClient, options: MailboxesOptions = {}) {
    this.#redis = requireClient(redis);
    this.#keys = new MessagingKeys(options.prefix);
    this.#limits = resolveMailboxesOptions(options);
    this.#hub = WaiterHub.of(redis);
    this.#sends = new Coalescer((recipient, requests) => this.#sendBatch(recipient, requests), {
      maxBatch: MAX_BATCH.messages,
      maxBytes: MAX_BATCH.bytes,
      bytesOf: ({ payload }) => payload.length,
    });
    this.#acks = new Coalescer((recipient, upToIds) => this.#ackBatch(recipient, upToIds), {
      maxBatch: MAX_BATCH.messages,
    });
  }

  /**
   * Appends a message to the recipient's mailbox and wakes a `receive` that waits for it. The body is any JSON value.
   * Messages to one recipient in the same tick are one round trip and one atomic script, in the order of the calls. O(1).
   * With an `id`, repeating it within `dedupMs` is safe, also after an ack. Refusal: ERR_BODY_TOO_LARGE.
   */
  async send(recipient: string, body: Body, options: SendOptions): Promise<SendResult> {
    return this.#sends.submit(recipient, this.#toRequest({ ...options, recipient, body }));
  }

  /**
   * Sends messages to any recipients; the results are in their order. One round trip per recipient, all at once. All
   * messages are checked before one is sent. Not atomic across recipients: when it rejects, some may have been sent, and
   * with ids repeating all of it is safe.
   */
  async sendMany(messages: readonly Outgoing<Body>[]): Promise<SendResult[]> {
    const requests = messages.map((message) => this.#toRequest(message));
    return Promise.all(
      requests.map((request, index) => this.#sends.submit(messages[index]?.recipient as string, request)),
    );
  }

  /**
   * The messages that are not acked, from one end of the mailbox; empty when there are none. Moves nothing: the same
   * messages come again until they are acked. With `waitMs` an empty mailbox is waited for, on a subscription that all
   * waits of this client share; one `send` wakes all of them. One round trip, read-only; two and the first subscription
   * of the mailbox when it waits. O(limit).
   */
  async receive(recipient: string, options: ReceiveOptions = {}): Promise<Message<Body>[]> {
    const { limit, isLatest, waitMs } = resolveReceiveOptions(options);
    const { signal } = options;
    const keys = this.#keys.mailbox(recipient);
    const deadlineAt = performance.now() + waitMs;
    signal?.throwIfAborted();
    const messages = await this.#read(keys, limit, isLatest);
    if (messages.length > 0 || waitMs === 0) return messages;
    waiters += 1;
    const waiter = await this.#hub.waiter(keys.wake, String(waiters));
    try {
      for (;;) {
        const found = await this.#read(keys, limit, isLatest);
        const now = performance.now();
        if (found.length > 0 || now >= deadlineAt) return found;
        await waiter.next({ deadlineAt: Math.min(deadlineAt, now + RECHECK_MS), ...(signal && { signal }) });
      }
    } finally {
      waiter.close();
    }
  }

  /**
   * Acks all messages up to an id and frees them; returns how many that were. The cursor only moves forward: a lower
   * id than before does nothing. Acks of one recipient in the same tick share a round trip. O(messages freed).
   * Repeating it is safe. Refusal: ERR_UNKNOWN_MESSAGE for an id that no message has yet.
   */
  async ack(recipient: string, upToId: number): Promise<number> {
    return this.#acks.submit(
      requireName('recipient', recipient),
      requireInteger('upToId', upToId, { min: 0 }),
    );
  }

  /**
   * Acks all messages that are there and frees them; returns how many that were. Ids go on. Costs as `ack`. When it is
   * repeated, it takes what came since as well.
   */
  async clear(recipient: string): Promise<number> {
    return this.#acks.submit(requireName('recipient', recipient), 'all');
  }

  /** How many messages are not acked. One round trip, one command. O(1). */
  async unread(recipient: string): Promise<number> {
    return (await this.#redis.call('llen', [this.#keys.mailbox(recipient).messages])) as number;
  }

  /** Counts and instants of a mailbox. One round trip, read-only. O(1). */
  async status(recipient: string): Promise<MailboxStatus> {
    const [fields, size, oldest] = (await mailboxStatus.run(
      this.#redis,
      this.#keys.mailbox(recipient),
      {},
    )) as [(string | null)[], number, string | null];
    const [lastId = 0, ackedId = 0, bytes = 0, sentAt = 0, epoch = 0] = fields.map(Number);
    const [, offset, oldestAt] = oldest?.split(':').map(Number) ?? [];
    return {
      unread: size,
      size,
      sizeBytes: offset === undefined ? 0 : bytes - offset,
      lastId,
      ackedId,
      dropped: toRange(ackedId + 1, lastId - size) ?? null,
      lastReceivedAt: sentAt || null,
      oldestUnreadAt: oldestAt ?? null,
      epoch: epoch || null,
    };
  }

  #toRequest({ recipient, body, from, id = uuid() }: Outgoing<Body>): Request {
    requireName('recipient', recipient);
    const { payload, bodyBytes } = toPayload(from, body);
    const { maxBodyBytes } = this.#limits;
    if (bodyBytes > maxBodyBytes) throw new BodyTooLargeError(recipient, bodyBytes, maxBodyBytes);
    return { id: encodeName(requireName('id', id)), payload };
  }

  async #sendBatch(recipient: string, requests: readonly Request[]): Promise<SendResult[]> {
    const { retentionMs, headMs, dedupMs, maxMessages, maxBytes } = this.#limits;
    const replies = (await mailboxSend.run(this.#redis, this.#keys.mailbox(recipient), {
      retentionMs,
      headMs,
      dedupMs,
      maxIds: MAX_IDS,
      maxMessages,
      maxBytes,
      publish: this.#hub.publishCommand,
      outgoing: requests.flatMap(({ id, payload }) => [id, payload]),
    })) as number[];
    return requests.map((_, index) => {
      const [id = 0, known, fromId = 0, toId = 0] = replies.slice(4 * index, 4 * index + 4);
      const dropped = toRange(fromId, toId);
      return { id, isDuplicate: known === 1, ...(dropped && { dropped }) };
    });
  }

  async #ackBatch(recipient: string, upToIds: readonly (number | 'all')[]): Promise<(number | Error)[]> {
    const keys = this.#keys.mailbox(recipient);
    const [lastId = 0, ...counts] = (await mailboxAck.run(this.#redis, keys, { upToIds })) as number[];
    return counts.map((count, index) =>
      count < 0 ? new UnknownMessageError(recipient, upToIds[index] as number, lastId) : count,
    );
  }

  async #read(keys: MailboxKeys, limit: number, isLatest: boolean): Promise<Message<Body>[]> {
    const range = isLatest ? { first: -limit, final: -1 } : { first: 0, final: limit - 1 };
    const reply = await mailboxReceive.run(this.#redis, keys, range);
    const [ackedId, baseId, entries] = reply as [number, number, string[]];
    const messages = entries.map((entry) => toMessage<Body>(entry, toRange(ackedId + 1, baseId)));
    return isLatest ? messages.toReversed() : messages;
  }
}
