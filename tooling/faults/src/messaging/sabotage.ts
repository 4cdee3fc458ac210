/** Defects in scripts of chats and mailboxes, for the accountant to find. */
import type { Change } from '../break-script.js';
import { breakScript } from '../break-script.js';
import type { Sabotage } from './config.js';

const CHANGES: Readonly<Record<Sabotage, Change>> = {
  'ids of senders are not noted': {
    script: 'chat.post',
    replace: [[/redis\.call\('HSET', ids, (?:unpack\(newKeys\)|messageKeys\[1\], lastText)\)/g, '']],
  },
  'acks free what others have not read': {
    script: 'chat.ack',
    replace: [[/if floor > lowest then/, 'floor = last do']],
  },
  'acks of a device free what others have not received': {
    script: 'mailbox.ack',
    replace: [
      [
        /local slowest = redis\.call\('ZRANGE', mailbox, '4', '4', 'WITHSCORES'\)/,
        "local slowest = { '', last }",
      ],
    ],
  },
  'acks of a device are not noted': {
    script: 'mailbox.ack',
    replace: [[/redis\.call\('ZADD', mailbox, 'XX', 'GT', unpack\(written\)\)/, '']],
  },
};

export function sabotage(what: Sabotage): void {
  breakScript(what, CHANGES[what]);
}
