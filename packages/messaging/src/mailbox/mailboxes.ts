/**
 * Messages to single recipients, kept until the recipient acks them.
 *
 * A mailbox is a log as that of a chat (see `src/log`): a LIST of entries with dense ids, and one ZSET with the head and the
 * cursors, here of the devices of the recipient. The id is taken and the entry stored in one script,
 * so nobody sees message n + 1 before n and no lock is needed. A STREAM was rejected: it takes 4.3 KB as soon as it exists
 * and its ids have gaps; a ZSET takes 288 B for the message that takes 172 here. What all devices have acked is freed at once,
 * so the id before the first entry is `last - length`.
 *
 * A message with a `ttlMs` stands in a second ZSET, by the instant at which it expires. Each script begins with what has
 * expired, before it counts anything; so readers never see it, and `unread` is exact.
 */
import type { RedisClient } from '@mortise/redis';
import { requireClient, WaiterHub } from '@mortise/redis';
import { MessagingKeys } from '../keys.js';
import type {
  AddDeviceOptions,
  DeviceOptions,
  MailboxesOptions,
  ReceiveOptions,
  SendOptions,
} from '../options.js';
import { resolveMailboxesOptions } from '../options.js';
import { Tally } from '../telemetry/tally.js';
import { Acks } from './acks.js';
import { Blocks } from './blocks.js';
import type { AddDeviceResult } from './devices.js';
import { Devices } from './devices.js';
import type { MailboxesContext } from './mailboxes-context.js';
import type { Message } from './message.js';
import type { MailboxDevice, MailboxStatus } from './overview.js';
import { Overview } from './overview.js';
import { Reader } from './reader.js';
import type { Outgoing, SendResult } from './sender.js';
import { Sender } from './sender.js';

/** The mailboxes of many recipients; `Body` is the type of what they carry. */
export class Mailboxes<Body = unknown> {
  readonly #sender: Sender<Body>;
  readonly #reader: Reader<Body>;
  readonly #acks: Acks;
  readonly #overview: Overview;
  readonly #devices: Devices;
  readonly #blocks: Blocks;

  /** Sends nothing. Throws TypeError or RangeError for options that are out of range. */
  constructor(redis: RedisClient, options: MailboxesOptions = {}) {
    const context: MailboxesContext = {
      redis: requireClient(redis),
      keys: new MessagingKeys(options.prefix),
      limits: resolveMailboxesOptions(options),
      hub: WaiterHub.of(redis),
      tally: Tally.for(options.telemetry, 'mailbox'),
    };
    this.#sender = new Sender(context);
    this.#reader = new Reader(context);
    this.#acks = new Acks(context);
    this.#overview = new Overview(context);
    this.#devices = new Devices(context);
    this.#blocks = new Blocks(context);
  }

  /**
   * Appends a message to the recipient's mailbox and wakes every `receive` that waits for it. The body is any JSON value.
   * Messages to one recipient in the same tick are one round trip and one atomic script, in the order of the calls. O(1).
   * With an `id`, repeating it within `dedupMs` is safe, also after an ack. With `ttlMs`, nobody gets it when that is over.
   * Refusals, each for its own message alone: ERR_BODY_TOO_LARGE, ERR_INVALID_BODY; ERR_SENDER_BLOCKED, unless the id is known.
   */
  async send(recipient: string, body: Body, options: SendOptions): Promise<SendResult> {
    return this.#sender.send({ ...options, recipient, body });
  }

  /**
   * Sends messages to any recipients; the results are in their order. One round trip per recipient, all at once. All
   * messages are checked before one is sent. Not atomic across recipients: it rejects when all are answered, with the first
   * refusal or error, and then the others have been sent; with ids repeating all of it is safe. Where each result counts,
   * call `send` for each in the same tick: that costs the same.
   */
  async sendMany(messages: readonly Outgoing<Body>[]): Promise<SendResult[]> {
    return this.#sender.sendMany(messages);
  }

  /**
   * The messages that the device has not acked, from one end of the mailbox; empty when there are none. Moves nothing: the
   * same messages come again until they are acked. With `waitMs` an empty mailbox is waited for, on a subscription that all
   * waits of this client share; one `send` wakes all of them. One round trip; two and the first subscription of the
   * mailbox when it waits. O(limit), and more by what has expired among the messages. Notes that the device was here, for
   * `status`. Refusals: ERR_UNKNOWN_DEVICE; ERR_READ_TIMEOUT when Redis has not answered a second after `waitMs`.
   */
  async receive(recipient: string, options: ReceiveOptions = {}): Promise<Message<Body>[]> {
    return this.#reader.receive(recipient, options);
  }

  /**
   * Acks all messages up to an id for a device; returns how many that were. What all devices have acked is freed. The
   * cursor only moves forward: a lower id than before does nothing. Acks of one recipient in the same tick share a round trip.
   * O(messages freed). Repeating it is safe. Refusals: ERR_UNKNOWN_MESSAGE for an id that no message has yet,
   * ERR_UNKNOWN_DEVICE.
   */
  async ack(recipient: string, upToId: number, options: DeviceOptions = {}): Promise<number> {
    return this.#acks.ack(recipient, upToId, options);
  }

  /**
   * Acks all messages that are there for a device; returns how many that were. Ids go on. Costs and refuses as `ack`. When it
   * is repeated, it takes what came since as well.
   */
  async clear(recipient: string, options: DeviceOptions = {}): Promise<number> {
    return this.#acks.ack(recipient, 'all', options);
  }

  /** How many messages the device has not acked. One round trip. O(1). Refusal: ERR_UNKNOWN_DEVICE. */
  async unread(recipient: string, options: DeviceOptions = {}): Promise<number> {
    return this.#overview.unread(recipient, options);
  }

  /** Counts and instants of a mailbox and its devices: also for a sender who waits for the recipient. One round trip. O(devices). */
  async status(recipient: string): Promise<MailboxStatus> {
    return this.#overview.status(recipient);
  }

  /**
   * Gives the recipient one more device, with a cursor of its own; one that is there is left alone, so repeating it is safe.
   * A mailbox begins with the device `main` when its first message comes, and with the added device alone when that comes
   * first. A message is kept until all devices have acked it: the slowest one holds the others' memory up to the limits of
   * the mailbox, so a device that is gone has to be removed. One round trip. O(log devices). Refusal: ERR_TOO_MANY_DEVICES
   * above 100.
   */
  async addDevice(
    recipient: string,
    device: string,
    options: AddDeviceOptions = {},
  ): Promise<AddDeviceResult> {
    return this.#devices.add(recipient, device, options);
  }

  /**
   * Takes a device away and frees what it alone had not acked; returns whether it was there. A mailbox without devices keeps
   * what comes, within its limits, for the next one that is added at `oldest`. One round trip. O(messages freed). Repeating it
   * is safe.
   */
  async removeDevice(recipient: string, device: string): Promise<boolean> {
    return this.#devices.remove(recipient, device);
  }

  /** The devices of a recipient, the slowest first: how far each is, and when it was here last. Costs as `status`. */
  async devices(recipient: string): Promise<readonly MailboxDevice[]> {
    return (await this.#overview.status(recipient)).devices;
  }

  /**
   * Takes nothing more from a sender: `send` refuses it with ERR_SENDER_BLOCKED. What is there stays. Returns false when they
   * were blocked before. The block lasts until `unblock`. Blocks of one recipient in the same tick share a round trip. O(1).
   * Refusal: ERR_TOO_MANY_BLOCKED above 10,000.
   */
  async block(recipient: string, sender: string): Promise<boolean> {
    return this.#blocks.change(recipient, sender, true);
  }

  /** Takes messages from a sender again; returns false when they were not blocked. Costs as `block`. */
  async unblock(recipient: string, sender: string): Promise<boolean> {
    return this.#blocks.change(recipient, sender, false);
  }

  /** Whom the recipient has blocked, sorted. One round trip. O(blocked). */
  async blocked(recipient: string): Promise<string[]> {
    return this.#blocks.list(recipient);
  }
}
