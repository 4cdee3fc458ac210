/** Counts the commands that this process sends: Redis' own counters cannot tell them from those inside scripts. */
import { Redis } from 'ioredis';

let sent = 0;
// oxlint-disable-next-line typescript/unbound-method -- called with the original receiver below
const original = Redis.prototype.sendCommand;
Redis.prototype.sendCommand = function sendCommand(...args: Parameters<typeof original>) {
  sent += 1;
  return original.apply(this, args);
};

export function sentCommands(): number {
  return sent;
}
