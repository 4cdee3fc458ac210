/** Counts the commands that this process sends: Redis' own counters cannot tell them from those inside scripts. */
import { Redis } from 'ioredis';

let sent = 0;

/** Counts calls of the method through which every command of a client goes: that of ioredis is counted already. */
export function countCommandsOf<Name extends string>(
  prototype: Record<Name, (...args: never[]) => unknown>,
  method: Name,
): void {
  const original = prototype[method];
  prototype[method] = function counted(this: unknown, ...args: never[]) {
    sent += 1;
    return original.apply(this, args);
  };
}

countCommandsOf(Redis.prototype, 'sendCommand');

export function sentCommands(): number {
  return sent;
}
