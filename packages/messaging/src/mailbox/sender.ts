import { Coalescer, requireName } from '@mortise/redis';
import { SenderBlockedError } from '../errors.js';
import type { IdRange } from '../log/entry.js';
import { encodeBody, encodeMember, toRange } from '../log/entry.js';
import type { Incoming } from '../log/incoming.js';
import { packIncoming } from '../log/incoming.js';
import { encodeSenderId } from '../log/sender-id.js';
import type { SendOptions } from '../options.js';
import { resolveTtlMs } from '../options.js';
import { mailboxSend } from '../scripts.gen.js';
import type { MailboxesContext } from './mailboxes-context.js';

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
  /**
   * Messages that the mailbox dropped, unread by one device at least, to stay within its limits. Messages that travelled
   * together report the same range. Absent when there are none.
   */
  readonly dropped?: IdRange;
}

interface Request extends Incoming {
  /** Whether the sender gave it an id. Without one, what was stored before was stored by the same call. */
  readonly hasId: boolean;
  readonly from: string;
  /** 0: it doesn't expire. */
  readonly ttlMs: number;
}

/** Messages, and bytes, in one script call: about 1 ms of the server. */
const MAX_BATCH = { messages: 200, bytes: 1_048_576 };
/** Of each message that expires: u16 its place, f64 ms. */
const TTL_BYTES = 10;

/** Puts messages into mailboxes: those of one tick and recipient in one script call. */
export class Sender<Body> {
  readonly #context: MailboxesContext;
  readonly #limits: Buffer;
  readonly #sends = new Coalescer<string, Request, SendResult>(
    (recipient, requests) => this.#sendBatch(recipient, requests),
    {
      maxBatch: MAX_BATCH.messages,
      maxBytes: MAX_BATCH.bytes,
      bytesOf: ({ jsonBytes }) => jsonBytes,
    },
  );

  constructor(context: MailboxesContext) {
    const { retentionMs, dedupMs, maxMessages, maxBytes, headMs, marksMs } = context.limits;
    this.#context = context;
    this.#limits = Buffer.concat(
      [retentionMs, dedupMs, maxMessages, maxBytes, headMs, marksMs].map((limit) => {
        const operand = Buffer.allocUnsafe(8);
        operand.writeDoubleBE(limit);
        return operand;
      }),
    );
  }

  async send(message: Outgoing<Body>): Promise<SendResult> {
    return this.#sends.submit(message.recipient, this.#toRequest(message));
  }

  async sendMany(messages: readonly Outgoing<Body>[]): Promise<SendResult[]> {
    const requests = messages.map((message) => this.#toRequest(message));
    const outcomes = await Promise.allSettled(
      requests.map((request, index) => this.#sends.submit(messages[index]!.recipient, request)),
    );
    return outcomes.map((outcome) => {
      if (outcome.status === 'rejected') throw outcome.reason;
      return outcome.value;
    });
  }

  #toRequest(message: Outgoing<Body>): Request {
    const { recipient, body, from, id } = message;
    requireName('recipient', recipient);
    const author = encodeMember('from', from);
    const json = encodeBody(recipient, body, this.#context.limits.maxBodyBytes);
    const field = encodeSenderId(author, id);
    const ttlMs = resolveTtlMs(message);
    const jsonBytes = Buffer.byteLength(json);
    return { from, author, field, json, jsonBytes, ttlMs, hasId: id !== undefined };
  }

  async #sendBatch(recipient: string, requests: readonly Request[]): Promise<(SendResult | Error)[]> {
    const { redis, keys, hub, tally } = this.#context;
    const { senders, incoming } = packIncoming(requests);
    const replies = (await mailboxSend.run(redis, keys.mailbox(recipient), {
      publish: hub.publishCommand,
      limits: this.#limits,
      count: requests.length,
      incoming,
      ttls: packTtls(requests),
      senders,
    })) as (number | null)[];
    const dropped = toRange(replies[requests.length] ?? 0, replies[requests.length + 1] ?? 0);
    const results = requests.map(({ from, hasId }, index) => {
      const id = replies[index] ?? null;
      if (id === null) return new SenderBlockedError(recipient, from);
      return { id: Math.abs(id), isDuplicate: id < 0 && hasId, ...(dropped && { dropped }) };
    });
    tally?.posted(results, dropped);
    return results;
  }
}

function packTtls(requests: readonly Request[]): Buffer | string {
  const expiring = requests.flatMap(({ ttlMs }, index) => (ttlMs === 0 ? [] : { place: index + 1, ttlMs }));
  if (expiring.length === 0) return '';
  const ttls = Buffer.allocUnsafe(TTL_BYTES * expiring.length);
  let at = 0;
  for (const { place, ttlMs } of expiring) {
    at = ttls.writeUInt16BE(place, at);
    at = ttls.writeDoubleBE(ttlMs, at);
  }
  return ttls;
}
