import { Coalescer, decodeName, requireInteger, requireName } from '@mortise/redis';
import { UnknownIdError } from '../errors.js';
import type { DeviceOptions } from '../options.js';
import { resolveDeviceOptions } from '../resolve-options.js';
import { mailboxAck } from '../scripts.gen.js';
import { ACKS } from '../telemetry/metrics.js';
import type { MailboxesContext } from '../log/context.js';
import { isEmptyMailbox } from './empty-mailbox.js';

interface Ack {
  /** As stored. */
  readonly device: string;
  readonly upToId: number | 'all';
}

const MAX_BATCH = 200;
/** The script's reply for an id above the newest. */
const UNKNOWN_MESSAGE = -3;

/** Moves cursors of devices forward, and frees the messages that all devices have acked. */
export class Acks {
  readonly #context: MailboxesContext;
  readonly #acks: Coalescer<string, Ack, number>;

  constructor(context: MailboxesContext) {
    this.#context = context;
    this.#acks = new Coalescer((recipient, acks) => this.#ackBatch(recipient, acks), { maxBatch: MAX_BATCH });
  }

  /** Returns the number of acked messages. */
  async ack(recipient: string, upToId: number | 'all', options: DeviceOptions): Promise<number> {
    if (upToId !== 'all') requireInteger('upToId', upToId, { min: 0 });
    const device = resolveDeviceOptions(upToId === 'all' ? 'clear' : 'ack', options);
    const count = await this.#acks.submit(requireName('recipient', recipient), { device, upToId });
    this.#context.telemetry?.count(ACKS, 1);
    return count;
  }

  async #ackBatch(recipient: string, acks: readonly Ack[]): Promise<(number | Error)[]> {
    const { redis, keys, limits } = this.#context;
    const [lastId = 0, ...counts] = (await mailboxAck.run(redis, keys.mailbox(recipient), {
      tombstoneMs: limits.tombstoneMs,
      acks: acks.flatMap(({ device, upToId }) => [device, upToId]),
    })) as number[];
    return counts.map((count, index) => {
      if (count >= 0) return count;
      const { device, upToId } = acks[index]!;
      const isEmpty = isEmptyMailbox(count, device);
      if (isEmpty && (upToId === 'all' || upToId === 0)) return 0;
      if (upToId !== 'all' && (isEmpty || count === UNKNOWN_MESSAGE)) {
        return UnknownIdError.message('mailbox', recipient, { id: upToId, lastId });
      }
      return UnknownIdError.device(recipient, decodeName(device));
    });
  }
}
