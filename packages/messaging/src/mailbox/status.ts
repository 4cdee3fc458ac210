import { decodeName } from '@mortise/redis';
import { UnknownIdError } from '../errors.js';
import type { IdRange } from '../log/entry.js';
import { toRange } from '../log/entry.js';
import type { DeviceOptions } from '../options.js';
import { resolveDeviceOptions } from '../resolve-options.js';
import { mailboxStatus, mailboxUnread } from '../scripts.gen.js';
import type { MailboxesContext } from '../log/context.js';
import { isEmptyMailbox } from './empty-mailbox.js';

/** Counts and times of a device. */
export interface MailboxDevice {
  readonly device: string;
  /** The device has acked all messages up to this id. */
  readonly ackedId: number;
  /** Messages after `ackedId`, exactly those that `receive` returns. */
  readonly unread: number;
  /** Messages after `ackedId` that were dropped before this device acked them, or null. */
  readonly dropped: IdRange | null;
  /** The device's last `receive`, even without messages, ms since 1970, up to 1 s late. Null before the first. */
  readonly lastFetchedAt: number | null;
}

/** Counts and times of a mailbox. */
export interface MailboxStatus {
  /** Messages that not all devices have acked. With one device, exactly those that `receive` returns. */
  readonly unread: number;
  /** Stored messages. Equals `unread`, since acks free messages. */
  readonly size: number;
  /** Stored bytes, including 15 to 40 per message for id, time and sender. */
  readonly sizeBytes: number;
  /** The id of the newest message, acked or not; 0 without any. */
  readonly lastId: number;
  /** All devices have acked all messages up to this id; 0 at the start. */
  readonly ackedId: number;
  /** Messages after `ackedId` that were dropped unread, or null. */
  readonly dropped: IdRange | null;
  /** When the mailbox got its newest message, in ms since 1970, or null. */
  readonly lastReceivedAt: number | null;
  /** When the oldest unread message was sent, or null. */
  readonly oldestUnreadAt: number | null;
  /** The last `receive` of any device, even without messages, ms since 1970, up to 1 s late. Null before the first. */
  readonly lastFetchedAt: number | null;
  /** Identifies the numbering: ids begin anew after a mailbox was forgotten. Null for a missing mailbox. */
  readonly epoch: number | null;
  /** The devices, the slowest first. */
  readonly devices: readonly MailboxDevice[];
}

const NOTHING: MailboxStatus = {
  unread: 0,
  size: 0,
  sizeBytes: 0,
  lastId: 0,
  ackedId: 0,
  dropped: null,
  lastReceivedAt: null,
  oldestUnreadAt: null,
  lastFetchedAt: null,
  epoch: null,
  devices: [],
};

type StatusReply = [
  hasMore: number,
  epoch: number,
  lastId: number,
  lastOffset: number,
  bytes: number,
  stored: number,
  unread: number,
  oldest: string | null,
  ...devices: (string | number | null)[],
];

/** Counts and times of mailboxes, without reading messages. */
export class Status {
  readonly #context: MailboxesContext;

  constructor(context: MailboxesContext) {
    this.#context = context;
  }

  async unread(recipient: string, options: DeviceOptions): Promise<number> {
    const { redis, keys, limits } = this.#context;
    const device = resolveDeviceOptions('unread', options);
    for (;;) {
      const reply = (await mailboxUnread.run(redis, keys.mailbox(recipient), {
        device,
        tombstoneMs: limits.tombstoneMs,
      })) as [number, number] | number;
      if (typeof reply === 'number') {
        if (isEmptyMailbox(reply, device)) return 0;
        throw UnknownIdError.device(recipient, decodeName(device));
      }
      if (reply[0] === 0) return reply[1];
    }
  }

  async devices(recipient: string): Promise<readonly MailboxDevice[]> {
    return (await this.status(recipient)).devices;
  }

  async status(recipient: string): Promise<MailboxStatus> {
    const { redis, keys, limits } = this.#context;
    const { tombstoneMs } = limits;
    let reply: StatusReply | number;
    do {
      reply = (await mailboxStatus.run(redis, keys.mailbox(recipient), { tombstoneMs })) as
        | StatusReply
        | number;
      if (typeof reply === 'number') return NOTHING;
    } while (reply[0] === 1);
    const [, epoch, lastId, lastOffset, sizeBytes, stored, unread, oldest, ...fields] = reply;
    const baseId = lastId - stored;
    const devices = toDevices(fields, baseId);
    const ackedId = devices[0]?.ackedId ?? baseId;
    const fetches = devices.flatMap(({ lastFetchedAt }) => lastFetchedAt ?? []);
    return {
      unread,
      size: unread,
      sizeBytes,
      lastId,
      ackedId,
      dropped: toRange(ackedId + 1, baseId) ?? null,
      lastReceivedAt: lastId === 0 ? null : epoch + lastOffset,
      oldestUnreadAt: oldest === null ? null : epoch + Number(oldest.split(':')[1]),
      lastFetchedAt: fetches.length === 0 ? null : Math.max(...fetches),
      epoch,
      devices,
    };
  }
}

/** @param fields Four values for each device. */
function toDevices(fields: readonly (string | number | null)[], baseId: number): MailboxDevice[] {
  const devices: MailboxDevice[] = [];
  for (let index = 0; index < fields.length; index += 4) {
    const [device, ackedId, unread, fetchedAt] = fields.slice(index, index + 4);
    devices.push({
      device: decodeName(device as string),
      ackedId: ackedId as number,
      unread: unread as number,
      dropped: toRange((ackedId as number) + 1, baseId) ?? null,
      lastFetchedAt: fetchedAt === null ? null : Number(fetchedAt),
    });
  }
  return devices;
}
