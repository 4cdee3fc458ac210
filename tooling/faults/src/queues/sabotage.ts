/** Defects in scripts of queues, for the accountant to find. */
import type { Change } from '../break-script.js';
import { breakScript } from '../break-script.js';
import type { Sabotage } from './config.js';

const CHANGES: Readonly<Record<Sabotage, Change>> = {
  'completion without a look at the token': {
    script: 'fetcher.fetch-and-ack',
    replace: [[/state == 'A' and held == given/, "state == 'A'"]],
  },
  'tasks of dead workers stay': {
    script: 'maintainer.maintain',
    replace: [[/if #expired > 0 then/, 'expired = {} if false then']],
  },
  'renewal is not stored': {
    script: 'heartbeater.renew',
    replace: [[/redis\.call\('ZADD', active, unpack\(renewed\)\)/, '']],
  },
  'taken tasks stay in the list': {
    script: 'fetcher.fetch-and-ack',
    replace: [
      [/redis\.call\('LPOP', ready, want - fetched\)/, "redis.call('LRANGE', ready, 0, want - fetched - 1)"],
    ],
  },
  'succeeded tasks are lost': {
    script: 'fetcher.fetch-and-ack',
    replace: [
      [
        /local surplus = redis\.call\('RPUSH', succeeded, unpack\(finished\)\)/,
        "redis.call('HDEL', tasks, unpack(finished)) local surplus = 0",
      ],
    ],
  },
  'groups take no turns': {
    script: 'fetcher.fetch-and-ack',
    replace: [[/groupConcurrency = 1$/m, 'groupConcurrency = 1000']],
  },
};

export function sabotage(what: Sabotage): void {
  breakScript(what, CHANGES[what]);
}
