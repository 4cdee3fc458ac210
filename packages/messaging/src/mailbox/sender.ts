import { Coalescer, requireArray, requireName } from '@mortise/redis';
import { NotAllowedError } from '../errors.js';
import type { Appended } from '../log/appended.js';
import { toAppended } from '../log/appended.js';
import { encodeMember } from '../log/entry.js';
import type { NewMessage } from '../log/packed-messages.js';
import { newMessage, packMessages } from '../log/packed-messages.js';
import type { SendOptions } from '../options.js';
import { resolveOutgoing, resolveSendOptions, resolveTtlMs } from '../resolve-options.js';
import { mailboxSend } from '../scripts.gen.js';
import type { MailboxesContext } from '../log/context.js';

/** A message for `sendMany`. */
export interface Outgoing<Body = unknown> extends SendOptions {
  readonly recipient: string;
  readonly body: Body;
}

/** The result of `send`. */
export type SendResult = Appended;

interface Request extends NewMessage {
  readonly from: string;
  /** 0: no expiry. */
  readonly ttlMs: number;
}

/** Messages and bytes in one script call: about 1 ms of the server. */
const MAX_BATCH = { messages: 200, bytes: 1_048_576 };
/** For each message that expires: u16 place, f64 ms. */
const TTL_BYTES = 10;

/** Sends messages to mailboxes. Messages to one recipient in the same tick are one script call. */
export class Sender<Body> {
  readonly #context: MailboxesContext;
  readonly #sends = new Coalescer<string, Request, SendResult>(
    (recipient, requests) => this.#sendBatch(recipient, requests),
    {
      maxBatch: MAX_BATCH.messages,
      maxBytes: MAX_BATCH.bytes,
      bytesOf: ({ jsonBytes }) => jsonBytes,
    },
  );

  constructor(context: MailboxesContext) {
    this.#context = context;
  }

  async send(recipient: string, body: Body, options: SendOptions): Promise<SendResult> {
    const request = this.#toRequest({ ...resolveSendOptions(options), recipient, body });
    return this.#sends.submit(recipient, request);
  }

  async sendMany(messages: readonly Outgoing<Body>[]): Promise<SendResult[]> {
    const requests = requireArray('messages', messages).map((message) =>
      this.#toRequest(resolveOutgoing(message)),
    );
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
    const request = newMessage(recipient, author, body, id, this.#context);
    return { from, ...request, ttlMs: resolveTtlMs(message) };
  }

  async #sendBatch(recipient: string, requests: readonly Request[]): Promise<(SendResult | Error)[]> {
    const { redis, keys, limits, hub, telemetry } = this.#context;
    const { senders, packed } = packMessages(requests);
    const replies = (await mailboxSend.run(redis, keys.mailbox(recipient), {
      publish: hub.publishCommand,
      limits: limits.packed,
      count: requests.length,
      packed,
      ttls: packTtls(requests),
      senders,
    })) as (number | null)[];
    return toAppended(requests, replies, telemetry, ({ from }) => NotAllowedError.blocked(recipient, from));
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
