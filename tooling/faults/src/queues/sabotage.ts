/**
 * Breaks a script of the queues in this process only, to see the accountant find it. A change that doesn't fit the text
 * any more ends the process, so that the proof cannot silently become none.
 */
import { Script } from '@mortise/redis';
import type { Sabotage } from './config.js';

type Run = (this: Script, ...args: Parameters<Script['run']>) => ReturnType<Script['run']>;

interface Change {
  readonly script: string;
  readonly find: RegExp;
  readonly replacement: string;
}

const CHANGES: Record<Sabotage, Change> = {
  'completion without a look at the token': {
    script: 'fetcher.fetch-and-ack',
    find: /state == 'A' and held == given/,
    replacement: "state == 'A'",
  },
  'tasks of dead workers stay': {
    script: 'maintainer.maintain',
    find: /if #expired > 0 then/,
    replacement: 'expired = {} if false then',
  },
  'renewal is not stored': {
    script: 'heartbeater.renew',
    find: /redis\.call\('ZADD', active, unpack\(renewed\)\)/,
    replacement: '',
  },
  'taken tasks stay in the list': {
    script: 'fetcher.fetch-and-ack',
    find: /redis\.call\('LPOP', ready, want - fetched\)/,
    replacement: "redis.call('LRANGE', ready, 0, want - fetched - 1)",
  },
  'succeeded tasks are lost': {
    script: 'fetcher.fetch-and-ack',
    find: /local surplus = redis\.call\('RPUSH', succeeded, unpack\(finished\)\)/,
    replacement: "redis.call('HDEL', tasks, unpack(finished)) local surplus = 0",
  },
  'groups take no turns': {
    script: 'fetcher.fetch-and-ack',
    find: /groupConcurrency = 1$/m,
    replacement: 'groupConcurrency = 1000',
  },
};

export function sabotage(what: Sabotage): void {
  const { script: name, find, replacement } = CHANGES[what];
  const broken = new Map<Script, Script>();
  for (const method of ['run', 'runBuffer'] as const) {
    const { [method]: whole } = Script.prototype as Record<typeof method, Run>;
    const runBroken: Run = function runBroken(client, keys, args) {
      if (this.definition.name !== name) return whole.call(this, client, keys, args);
      let script = broken.get(this);
      if (!script) {
        const { source } = this.definition;
        if (!find.test(source)) abandon(`${name} has nothing that "${what}" could break`);
        script = new Script({ ...this.definition, source: source.replace(find, replacement) });
        broken.set(this, script);
      }
      return whole.call(script, client, keys, args);
    };
    Script.prototype[method] = runBroken as never;
  }
}

/** Not an exception: the worker would take it for an error of Redis, and try again. */
function abandon(reason: string): never {
  console.error(reason);
  process.exit(2);
}
