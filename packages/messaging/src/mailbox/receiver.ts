import { Coalescer, decodeName } from '@mortise/redis';
import { UnknownIdError } from '../errors.js';
import { isTombstone, toRange } from '../log/entry.js';
import type { ReceiveOptions } from '../options.js';
import { resolveReceiveOptions } from '../resolve-options.js';
import { mailboxReceive } from '../scripts.gen.js';
import { countRead } from '../telemetry/count-read.js';
import { untilUnread } from '../wait/until-unread.js';
import type { MailboxesContext } from '../log/context.js';
import { isEmptyMailbox } from './empty-mailbox.js';
import type { Message } from './message.js';
import { toMessage } from './message.js';

interface Read {
  readonly recipient: string;
  /** As stored. */
  readonly device: string;
  readonly limit: number;
  readonly isLatest: boolean;
}

type Reply = [
  hasMore: number,
  epoch: number,
  ackedId: number,
  baseId: number,
  unread: number,
  entries: string[],
];

const MAX_BATCH = 1_000;
/** Reads mailboxes, and waits for messages. */
export class Receiver<Body> {
  readonly #context: MailboxesContext;
  readonly #reads = new Coalescer<string, Read, Reply | null>((_, reads) => this.#readOnce(reads), {
    maxBatch: MAX_BATCH,
  });

  constructor(context: MailboxesContext) {
    this.#context = context;
  }

  async receive(recipient: string, options: ReceiveOptions): Promise<Message<Body>[]> {
    const { device, limit, isLatest, waitMs, signal } = resolveReceiveOptions(options);
    const { wake } = this.#context.keys.mailbox(recipient);
    const read = { recipient, device, limit, isLatest };
    return untilUnread(
      this.#context,
      async () => this.#counted(await this.#read(read)),
      (messages) => messages.length > 0,
      { reader: recipient, waitMs, signal, channelsOf: () => [wake], isUpdate: () => true },
    );
  }

  #counted(messages: Message<Body>[]): Message<Body>[] {
    const { telemetry } = this.#context;
    const hasGap = messages.some(({ droppedBefore }) => droppedBefore);
    if (telemetry) countRead(telemetry, messages, hasGap);
    return messages;
  }

  async #read(read: Read): Promise<Message<Body>[]> {
    const { limit, isLatest, device, recipient } = read;
    // One wake-up causes many equal reads.
    const reply = await this.#reads.submit([limit, isLatest, device, recipient].join('\0'), read);
    if (reply === null) return [];
    const [, epoch, ackedId, baseId, unread, entries] = reply;
    const messages = entries
      .filter((entry) => !isTombstone(entry))
      .map((entry) => toMessage<Body>(entry, epoch, this.#context.codecs));
    const dropped = toRange(ackedId + 1, baseId);
    // The oldest unread message reports the dropped ones before it.
    if (dropped && messages.length > 0 && (!isLatest || messages.length === unread)) {
      messages[0] = { ...messages[0]!, droppedBefore: dropped };
    }
    return isLatest ? messages.toReversed() : messages;
  }

  /** One read for all equal ones. Resolves to nulls without a mailbox. */
  async #readOnce(reads: readonly Read[]): Promise<(Reply | null | Error)[]> {
    const { redis, keys, limits } = this.#context;
    const { recipient, device, limit, isLatest } = reads[0]!;
    const { headMs, tombstoneMs } = limits;
    const args = { device, isLatest: isLatest ? 1 : 0, limit, headMs, tombstoneMs };
    let reply: Reply | number;
    do {
      reply = (await mailboxReceive.run(redis, keys.mailbox(recipient), args)) as Reply | number;
      if (typeof reply === 'number') {
        const isEmpty = isEmptyMailbox(reply, device);
        return reads.map(() => (isEmpty ? null : UnknownIdError.device(recipient, decodeName(device))));
      }
      // Repeats while more has expired than one call removes.
    } while (reply[0] === 1);
    return reads.map(() => reply);
  }
}
