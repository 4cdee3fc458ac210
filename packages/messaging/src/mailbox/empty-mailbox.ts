import { MAILBOX_DEFAULTS } from '../options.js';

/** The reply of scripts for a mailbox that doesn't exist. For an unknown device they reply -2. */
const NO_MAILBOX = -1;

/** Whether a mailbox that got no message yet has to look empty: its first message will create the device `main`. */
export function isEmptyMailbox(reply: number, device: string): boolean {
  return reply === NO_MAILBOX && device === MAILBOX_DEFAULTS.device;
}
