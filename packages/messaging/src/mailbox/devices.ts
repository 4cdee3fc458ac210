import { TooManyError } from '../errors.js';
import type { MailboxesContext } from '../log/context.js';
import { encodeMember } from '../log/entry.js';
import type { AddDeviceOptions } from '../options.js';
import { resolveAddDeviceOptions } from '../resolve-options.js';
import { mailboxAddDevice, mailboxRemoveDevice } from '../scripts.gen.js';

/** The result of `addDevice`. */
export interface AddDeviceResult {
  /** False if the device existed: nothing was changed. */
  readonly isNew: boolean;
  /** The cursor of the device, which gets the messages after it. */
  readonly ackedId: number;
}

/** Maximum of devices of a mailbox, since `status` reads each of them. */
const MAX_DEVICES = 100;

/** The devices of mailboxes, each with a cursor of its own. */
export class Devices {
  readonly #context: MailboxesContext;

  constructor(context: MailboxesContext) {
    this.#context = context;
  }

  async add(recipient: string, device: string, options: AddDeviceOptions): Promise<AddDeviceResult> {
    const { redis, keys, limits } = this.#context;
    const reply = (await mailboxAddDevice.run(redis, keys.mailbox(recipient), {
      device: encodeMember('device', device),
      at: resolveAddDeviceOptions(options),
      maxDevices: MAX_DEVICES,
      headMs: limits.headMs,
    })) as [number, number] | number;
    if (typeof reply === 'number') throw TooManyError.devices(recipient, MAX_DEVICES);
    return { isNew: reply[0] === 1, ackedId: reply[1] };
  }

  /** Returns whether it existed. */
  async remove(recipient: string, device: string): Promise<boolean> {
    const { redis, keys } = this.#context;
    const args = { device: encodeMember('device', device) };
    return (await mailboxRemoveDevice.run(redis, keys.mailbox(recipient), args)) === 1;
  }
}
