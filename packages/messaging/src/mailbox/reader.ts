import { Coalescer, decodeName } from '@mortise/redis';
import { ReadTimeoutError, UnknownDeviceError } from '../errors.js';
import { asWaiter, inTime, LATE } from '../in-time.js';
import { isDeleted, toRange } from '../log/entry.js';
import type { ReceiveOptions } from '../options.js';
import { resolveDevice, resolveReceiveOptions } from '../options.js';
import { mailboxReceive } from '../scripts.gen.js';
import { GAPS, PULLED } from '../telemetry/metrics.js';
import type { MailboxesContext } from './mailboxes-context.js';
import { isEmptyMailbox } from './missing.js';
import type { Message } from './message.js';
import { toMessage } from './message.js';

/** What a device of a mailbox is asked for. */
interface Read {
  readonly recipient: string;
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

/** A wake-up may be lost with its connection; a waiting `receive` looks again after so long. */
const RECHECK_MS = 5_000;
/** What is asked at the end of a wait may take so long to be answered. */
const LAST_ANSWER_MS = 1_000;

let waiters = 0;

/** Reads mailboxes, and waits for what comes. */
export class Reader<Body> {
  readonly #context: MailboxesContext;
  readonly #reads = new Coalescer<string, Read, Reply | null>((_, reads) => this.#readOnce(reads), {
    maxBatch: MAX_BATCH,
  });

  constructor(context: MailboxesContext) {
    this.#context = context;
  }

  async receive(recipient: string, options: ReceiveOptions): Promise<Message<Body>[]> {
    const { limit, isLatest, waitMs } = resolveReceiveOptions(options);
    const { signal } = options;
    const { redis, keys, hub } = this.#context;
    const { wake } = keys.mailbox(recipient);
    const read = { recipient, device: resolveDevice(options), limit, isLatest };
    const deadlineAt = performance.now() + waitMs;
    signal?.throwIfAborted();
    const look = async (): Promise<Message<Body>[]> => {
      const lastAt = waitMs === 0 ? Infinity : deadlineAt + LAST_ANSWER_MS;
      const reading = this.#read(read);
      const found = await inTime(waitMs === 0 ? reading : asWaiter(redis, reading), lastAt, signal);
      if (found === LATE) throw new ReadTimeoutError(recipient, waitMs);
      return this.#counted(found);
    };
    const messages = await look();
    if (messages.length > 0 || waitMs === 0) return messages;
    waiters += 1;
    const place = hub.waiter(wake, String(waiters));
    try {
      const waiter = await inTime(place, deadlineAt, signal);
      for (;;) {
        const found = await look();
        const now = performance.now();
        if (found.length > 0 || now >= deadlineAt || waiter === LATE) return found;
        await waiter.next({ deadlineAt: Math.min(deadlineAt, now + RECHECK_MS), ...(signal && { signal }) });
      }
    } finally {
      // The server may not have confirmed it yet, when the signal or the deadline ended that.
      place.then(
        (waiter) => waiter.close(),
        () => undefined,
      );
    }
  }

  #counted(messages: Message<Body>[]): Message<Body>[] {
    const { tally } = this.#context;
    if (tally && messages.some(({ droppedBefore }) => droppedBefore)) tally.count(GAPS, 1);
    tally?.count(PULLED, messages.length);
    return messages;
  }

  async #read(read: Read): Promise<Message<Body>[]> {
    const { limit, isLatest, device, recipient } = read;
    // A wake-up sets off many reads that are alike.
    const reply = await this.#reads.submit([limit, isLatest, device, recipient].join('\0'), read);
    if (reply === null) return [];
    const [, epoch, ackedId, baseId, unread, entries] = reply;
    const messages = entries
      .filter((entry) => !isDeleted(entry))
      .map((entry) => toMessage<Body>(entry, epoch));
    const dropped = toRange(ackedId + 1, baseId);
    // The oldest message of all tells what is missing before it.
    if (dropped && messages.length > 0 && (!isLatest || messages.length === unread)) {
      messages[0] = { ...messages[0]!, droppedBefore: dropped };
    }
    return isLatest ? messages.toReversed() : messages;
  }

  /** One read for all that are alike. Resolves to nulls where no mailbox is. */
  async #readOnce(reads: readonly Read[]): Promise<(Reply | null | Error)[]> {
    const { redis, keys, limits } = this.#context;
    const { recipient, device, limit, isLatest } = reads[0]!;
    const { headMs, marksMs } = limits;
    const args = { device, isLatest: isLatest ? 1 : 0, limit, headMs, marksMs };
    let reply: Reply | number;
    do {
      reply = (await mailboxReceive.run(redis, keys.mailbox(recipient), args)) as Reply | number;
      if (typeof reply === 'number') {
        const isEmpty = isEmptyMailbox(reply, device);
        return reads.map(() => (isEmpty ? null : new UnknownDeviceError(recipient, decodeName(device))));
      }
      // More may have expired than one call clears away.
    } while (reply[0] === 1);
    return reads.map(() => reply);
  }
}
