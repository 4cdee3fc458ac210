/**
 * Breaks a script of chats or mailboxes in this process only, to see the accountant find it. A change that doesn't fit the text
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
  'ids of senders are not noted': {
    script: 'chat.post',
    find: /redis\.call\('HSET', ids, (?:unpack\(newKeys\)|messageKeys\[1\], lastText)\)/g,
    replacement: '',
  },
  'acks free what others have not read': {
    script: 'chat.ack',
    find: /if floor > lowest then/,
    replacement: 'floor = last do',
  },
  'acks of a device free what others have not received': {
    script: 'mailbox.ack',
    find: /local slowest = redis\.call\('ZRANGE', mailbox, '4', '4', 'WITHSCORES'\)/,
    replacement: "local slowest = { '', last }",
  },
  'acks of a device are not noted': {
    script: 'mailbox.ack',
    find: /redis\.call\('ZADD', mailbox, 'XX', 'GT', unpack\(written\)\)/,
    replacement: '',
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

/** Not an exception: the process would take it for an error of Redis, and try again. */
function abandon(reason: string): never {
  console.error(reason);
  process.exit(2);
}
