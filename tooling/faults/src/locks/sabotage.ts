/** Defects in the release of a Mutex, for the checker of histories to find. */
import type { Change } from '../break-script.js';
import { breakScript } from '../break-script.js';
import type { Sabotage } from './config.js';

const CHANGES: Readonly<Record<Sabotage, Change['replace']>> = {
  'release ignores the owner': [[/isHolder = holder == member[^\n]*/, 'isHolder = holder']],
  'grant is not recorded': [
    [/redis\.call\('SET', lease, head, 'PX', confirmMs\)/, "redis.call('DEL', lease)"],
  ],
  'token does not rise': [
    [
      /fencingToken = isFair and nextFencingToken\(token\)/,
      "fencingToken = isFair and string.format('%.0f', clockText() - 1000000)",
    ],
  ],
};

export function sabotage(what: Sabotage): void {
  breakScript(what, { script: 'mutex.release', replace: CHANGES[what] });
}
