/** Defects in scripts of files and of the log aggregation, for the verdict to find. */
import type { Change } from '../break-script.js';
import { breakScript } from '../break-script.js';
import type { Sabotage } from './config.js';

const CHANGES: Readonly<Record<Sabotage, Change>> = {
  'checkpoints are counted again': {
    script: 'daily.count',
    replace: [
      [/if tonumber\(offset\) >= tonumber\(toOffset\) then return .*/, ''],
      [/if offset ~= fromOffset then return .*/, ''],
    ],
  },
  'acks free what others have not read': {
    script: 'file.ack',
    replace: [[/local slowest = .*/, 'local slowest = position']],
  },
  'files that all are done with stay': {
    script: 'file.complete',
    replace: [[/redis\.call\('UNLINK', file\)\nreturn 1/, 'return 1']],
  },
};

export function sabotage(what: Sabotage): void {
  breakScript(what, CHANGES[what]);
}
