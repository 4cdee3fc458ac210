/**
 * Breaks a script in this process only: the verdict has to find it. A change that doesn't fit the text of the script any more ends the
 * process, so the proof cannot silently become none.
 */
import { Script } from '@mortise/redis';
import type { Sabotage } from './config.js';

type Run = (this: Script, ...args: Parameters<Script['run']>) => ReturnType<Script['run']>;

interface Change {
  readonly script: string;
  readonly replace: readonly (readonly [find: RegExp, replacement: string])[];
}

const CHANGES: Record<Sabotage, Change> = {
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
  const { script: name, replace } = CHANGES[what];
  const { run: whole } = Script.prototype as { run: Run };
  let broken: Script | undefined;
  const runBroken: Run = function runBroken(client, keys, args) {
    if (this.definition.name !== name) return whole.call(this, client, keys, args);
    broken ??= new Script({ ...this.definition, source: brokenSource(this.definition.source) });
    return whole.call(broken, client, keys, args);
  };
  Script.prototype.run = runBroken as never;

  function brokenSource(source: string): string {
    let result = source;
    for (const [find, replacement] of replace) {
      if (!find.test(result)) abandon(`${name} has nothing that "${what}" could break`);
      result = result.replace(find, replacement);
    }
    return result;
  }
}

/** Not an exception: the process would treat it as an error of Redis, and try again. */
function abandon(reason: string): never {
  console.error(reason);
  process.exit(2);
}
