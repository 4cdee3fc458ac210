import { Coalescer, decodeName, requireInteger, requireName } from '@mortise/redis';
import { UnknownDeviceError, UnknownMessageError } from '../errors.js';
import type { DeviceOptions } from '../options.js';
import { resolveDevice } from '../options.js';
import { mailboxAck } from '../scripts.gen.js';
import { ACKS } from '../telemetry/metrics.js';
import type { MailboxesContext } from './mailboxes-context.js';
import { isEmptyMailbox } from './missing.js';

interface Ack {
  readonly device: string;
  readonly upToId: number | 'all';
}

const MAX_BATCH = 200;
/** What the script replies for an id that no message has yet. */
const UNKNOWN_MESSAGE = -3;

/** Moves cursors of devices forward, and frees what all devices have passed. */
export class Acks {
  readonly #context: MailboxesContext;
  readonly #acks: Coalescer<string, Ack, number>;

  constructor(context: MailboxesContext) {
    this.#context = context;
    this.#acks = new Coalescer((recipient, acks) => this.#ackBatch(recipient, acks), { maxBatch: MAX_BATCH });
  }

  /** Resolves to how many messages it acked. */
  async ack(recipient: string, upToId: number | 'all', options: DeviceOptions): Promise<number> {
    if (upToId !== 'all') requireInteger('upToId', upToId, { min: 0 });
    const ack = { device: resolveDevice(options), upToId };
    const count = await this.#acks.submit(requireName('recipient', recipient), ack);
    this.#context.tally?.count(ACKS, 1);
    return count;
  }

  async #ackBatch(recipient: string, acks: readonly Ack[]): Promise<(number | Error)[]> {
    const { redis, keys, limits } = this.#context;
    const [lastId = 0, ...counts] = (await mailboxAck.run(redis, keys.mailbox(recipient), {
      marksMs: limits.marksMs,
      acks: acks.flatMap(({ device, upToId }) => [device, upToId]),
    })) as number[];
    return counts.map((count, index) => {
      if (count >= 0) return count;
      const { device, upToId } = acks[index]!;
      const isEmpty = isEmptyMailbox(count, device);
      if (isEmpty && (upToId === 'all' || upToId === 0)) return 0;
      if (upToId !== 'all' && (isEmpty || count === UNKNOWN_MESSAGE)) {
        return new UnknownMessageError(recipient, upToId, lastId);
      }
      return new UnknownDeviceError(recipient, decodeName(device));
    });
  }
}
