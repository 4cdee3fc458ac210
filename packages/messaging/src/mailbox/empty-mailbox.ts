import { MAILBOX_DEFAULTS } from '../options.js';

/** The reply of scripts for a missing mailbox. For an unknown device they reply -2. */
const NO_MAILBOX = -1;

/** Whether a missing mailbox must look empty: its first message will create the device `main`. */
export function isEmptyMailbox(reply: number, device: string): boolean {
  return reply === NO_MAILBOX && device === MAILBOX_DEFAULTS.device;
}
