/**
 * Messages to single recipients, kept until the recipient acks them.
 *
 * A mailbox is a log like that of a chat, see `src/log`. It has a LIST of entries with dense ids, and one ZSET with the head
 * and the cursors of the recipient's devices. One script takes the id and stores the entry, so nobody sees message n + 1
 * before n, and no lock is needed. Rejected: a STREAM, since an empty one takes 4.3 KB and its ids have gaps. A ZSET takes
 * 288 B for a message that takes 172 here. Messages that all devices have acked are freed at once, so the id before the
 * first entry is `last - length`.
 *
 * A message with a `ttlMs` is also in a second ZSET, by its expiry. Each script first removes expired messages, so readers
 * never see them, and `unread` is exact.
 */
import type { RedisClient } from '@mortise/redis';
import { Codecs, ignorable, requireClient, SafeTelemetry, WaiterHub } from '@mortise/redis';
import { MessagingKeys } from './keys.js';
import { Acks } from './mailbox/acks.js';
import type { MailboxEvent } from './mailbox/arrivals.js';
import { followMailbox } from './mailbox/arrivals.js';
import { Blocks } from './mailbox/blocks.js';
import type { MailboxesContext } from './log/context.js';
import type { AddDeviceResult } from './mailbox/devices.js';
import { Devices } from './mailbox/devices.js';
import type { Message } from './mailbox/message.js';
import { Receiver } from './mailbox/receiver.js';
import type { Outgoing, SendResult } from './mailbox/sender.js';
import { Sender } from './mailbox/sender.js';
import type { MailboxDevice, MailboxStatus } from './mailbox/status.js';
import { Status } from './mailbox/status.js';
import type {
  AddDeviceOptions,
  DeviceOptions,
  FollowMailboxOptions,
  MailboxesOptions,
  ReceiveOptions,
  SendOptions,
} from './options.js';
import { resolveMailboxesOptions } from './resolve-options.js';
import { telemetryAttributes } from './telemetry/metrics.js';

/** Mailboxes of many recipients; `Body` is the type of messages. */
export class Mailboxes<Body = unknown> {
  readonly #context: MailboxesContext;
  readonly #sender: Sender<Body>;
  readonly #receiver: Receiver<Body>;
  readonly #acks: Acks;
  readonly #status: Status;
  readonly #devices: Devices;
  readonly #blocks: Blocks;

  /** Sends nothing. Throws TypeError or RangeError for unknown options and values out of range. */
  constructor(redis: RedisClient, options: MailboxesOptions = {}) {
    const context: MailboxesContext = {
      redis: requireClient(redis),
      limits: resolveMailboxesOptions(options),
      codecs: Codecs.of(options.codecs),
      keys: new MessagingKeys(options.prefix),
      hub: WaiterHub.of(redis),
      telemetry: SafeTelemetry.of(options.telemetry, telemetryAttributes('mailbox')),
    };
    this.#context = context;
    this.#sender = new Sender(context);
    this.#receiver = new Receiver(context);
    this.#acks = new Acks(context);
    this.#status = new Status(context);
    this.#devices = new Devices(context);
    this.#blocks = new Blocks(context);
  }

  /**
   * Appends a message, which is any JSON value, to the recipient's mailbox and wakes every waiting `receive`. Messages to one
   * recipient in the same tick are one round trip and one atomic script, in the order of the calls. O(1). With an `id`,
   * repeating the call within `dedupMs` is safe, also after an ack. With `ttlMs`, the message expires. Errors concern only
   * their own message: ERR_BODY_TOO_LARGE, ERR_INVALID_BODY, and ERR_SENDER_BLOCKED unless the id is known. An unhandled
   * rejection does not end the process.
   */
  send(recipient: string, body: Body, options: SendOptions): Promise<SendResult> {
    return ignorable(this.#sender.send(recipient, body, options));
  }

  /**
   * Sends messages to any recipients; the results are in their order. One round trip for each recipient, in parallel. All
   * messages are checked before any is sent. Not atomic across recipients: the call rejects with the first error after the last
   * reply, when the other messages were sent. With ids, repeating the call is safe. To see each result, call `send` for each
   * message in the same tick, which costs the same.
   */
  async sendMany(messages: readonly Outgoing<Body>[]): Promise<SendResult[]> {
    return this.#sender.sendMany(messages);
  }

  /**
   * Returns the messages that the device has not acked, from one end of the mailbox. The call moves no cursor: the same
   * messages come again until they are acked. With `waitMs` the call waits while the mailbox is empty, on a subscription that
   * all waits of this client share. One `send` wakes all of them. One round trip; a call that waits costs two, and the first
   * subscription of the mailbox. O(limit + expired messages among them). Stores the time for `status`. Errors:
   * ERR_UNKNOWN_DEVICE; ERR_READ_TIMEOUT if Redis has not answered a second after `waitMs`.
   */
  async receive(recipient: string, options: ReceiveOptions = {}): Promise<Message<Body>[]> {
    return this.#receiver.receive(recipient, options);
  }

  /**
   * Yields arrivals in a mailbox, which need not exist yet. An event has the newest id, and `receive` reads the messages.
   * Arrivals in a short time are one event. The iteration moves no cursor, and needs the subscription of `receive`. One round
   * trip for each wake-up, and one each minute. Pass the last event, or a `status`, as `after` to continue: nothing is lost,
   * and an outdated position gives a `reset`. The iteration throws errors of Redis; begin again after the last event.
   */
  follow(recipient: string, options: FollowMailboxOptions = {}): AsyncGenerator<MailboxEvent, void> {
    return followMailbox(this.#context, this.#status, recipient, options);
  }

  /**
   * Acks all messages up to an id for a device, and returns their number. Frees the messages that all devices have acked. A
   * cursor never moves back: a lower id changes nothing. Acks of one recipient in the same tick share a round trip. O(messages
   * freed). Repeating the call is safe; if ioredis resends it after a lost reply, the answer is 0. Errors: ERR_UNKNOWN_MESSAGE
   * for an id above the newest, ERR_UNKNOWN_DEVICE.
   */
  async ack(recipient: string, upToId: number, options: DeviceOptions = {}): Promise<number> {
    return this.#acks.ack(recipient, upToId, options);
  }

  /**
   * Acks all stored messages for a device, and returns their number. Ids continue. Costs, errors and resends are those of
   * `ack`. A repeated call also acks later messages.
   */
  async clear(recipient: string, options: DeviceOptions = {}): Promise<number> {
    return this.#acks.ack(recipient, 'all', options);
  }

  /** The number of messages that the device has not acked. One round trip. O(1). Error: ERR_UNKNOWN_DEVICE. */
  async unread(recipient: string, options: DeviceOptions = {}): Promise<number> {
    return this.#status.unread(recipient, options);
  }

  /**
   * Reads counts and times of a mailbox and its devices. Senders use it to wait for the recipient. One round trip. O(devices).
   */
  async status(recipient: string): Promise<MailboxStatus> {
    return this.#status.status(recipient);
  }

  /**
   * Adds a device with its own cursor. An existing device is not changed, so repeating the call is safe. If ioredis resends it
   * after a lost reply, the answer is `isNew: false`. The first message creates a mailbox with the device `main`; an earlier
   * `addDevice` creates the mailbox with the added device alone. A message is kept until all devices have acked it, within the
   * limits of the mailbox. So remove unused devices. One round trip. O(log devices). Error: ERR_TOO_MANY_DEVICES above 100.
   */
  async addDevice(
    recipient: string,
    device: string,
    options: AddDeviceOptions = {},
  ): Promise<AddDeviceResult> {
    return this.#devices.add(recipient, device, options);
  }

  /**
   * Removes a device, and frees the messages that only this device had not acked. Returns whether the device existed. A mailbox
   * without devices keeps messages, within its limits, for a device that is added at `oldest`. One round trip. O(messages
   * freed). Repeating the call is safe; if ioredis resends it after a lost reply, the answer is false.
   */
  async removeDevice(recipient: string, device: string): Promise<boolean> {
    return this.#devices.remove(recipient, device);
  }

  /** The devices of a recipient, the slowest first, with their cursors and their last `receive`. Costs as `status`. */
  async devices(recipient: string): Promise<readonly MailboxDevice[]> {
    return this.#status.devices(recipient);
  }

  /**
   * Blocks a sender: `send` fails with ERR_SENDER_BLOCKED until `unblock`. Stored messages stay. Returns false if the sender
   * was blocked before, or if ioredis resends the call after a lost reply. Blocks of one recipient in the same tick share a
   * round trip. O(1). Error: ERR_TOO_MANY_BLOCKED above 10,000.
   */
  async block(recipient: string, sender: string): Promise<boolean> {
    return this.#blocks.change(recipient, sender, true);
  }

  /** Unblocks a sender. Returns false if the sender was not blocked. Costs and resends are those of `block`. */
  async unblock(recipient: string, sender: string): Promise<boolean> {
    return this.#blocks.change(recipient, sender, false);
  }

  /** The senders that the recipient has blocked, sorted. One round trip. O(blocked). */
  async blocked(recipient: string): Promise<string[]> {
    return this.#blocks.list(recipient);
  }
}
