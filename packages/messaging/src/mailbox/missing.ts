import { DEFAULTS } from '../options.js';

/** What scripts reply for a mailbox that isn't there. For a device that isn't in it, they reply -2. */
const NO_MAILBOX = -1;

/** True where a mailbox that got nothing yet has to look like an empty one: its first message will make the device. */
export function isEmptyMailbox(reply: number, device: string): boolean {
  return reply === NO_MAILBOX && device === DEFAULTS.device;
}
