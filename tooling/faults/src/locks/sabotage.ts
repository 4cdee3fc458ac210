/**
 * Breaks a script of the locks in this process only, to see the checker find it. The text is changed when the script
 * is run; a change that doesn't fit the text any more ends the process, so that the proof cannot silently become none.
 */
import { Script } from '@mortise/redis';
import type { Sabotage } from './config.js';

type Run = (this: Script, ...args: Parameters<Script['run']>) => ReturnType<Script['run']>;

const CHANGES: Record<Sabotage, { readonly find: RegExp; readonly replacement: string }> = {
  'release ignores the owner': {
    find: /isHolder = holder == member[^\n]*/,
    replacement: 'isHolder = holder',
  },
  'grant is not recorded': {
    find: /redis\.call\('SET', lease, head, 'PX', confirmMs\)/,
    replacement: "redis.call('DEL', lease)",
  },
  'token does not rise': {
    find: /fencingToken = isFair and nextFencingToken\(token\)/,
    replacement: "fencingToken = isFair and string.format('%.0f', clockText() - 1000000)",
  },
};

export function sabotage(what: Sabotage): void {
  const { find, replacement } = CHANGES[what];
  const broken = new Map<string, Script>();
  const { run } = Script.prototype as { run: Run };
  const runBroken: Run = function runBroken(client, keys, args) {
    const { name, source } = this.definition;
    if (name !== 'mutex.release') return run.call(this, client, keys, args);
    let script = broken.get(name);
    if (!script) {
      if (!find.test(source)) abandon(`${name} has nothing that "${what}" could break`);
      script = new Script({ ...this.definition, source: source.replace(find, replacement) });
      broken.set(name, script);
    }
    return run.call(script, client, keys, args);
  };
  Script.prototype.run = runBroken;
}

/** Not an exception: the worker would take it for an error of its release. */
function abandon(reason: string): never {
  console.error(reason);
  process.exit(2);
}
