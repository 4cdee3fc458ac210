import type { Call, Commands } from './command.js';
import { read, scanFilter, write } from './command.js';

function members({ store, args }: Call): Set<string> | undefined {
  return store.read(args[0]!, 'set');
}

function add(call: Call): number {
  const [key, ...added] = call.args;
  const set = call.store.open(key!, 'set');
  const before = set.size;
  for (const member of added) set.add(member);
  call.store.grow(key!, ...added);
  return set.size - before;
}

function remove(call: Call): number {
  const [key, ...removed] = call.args;
  const set = members(call);
  let count = 0;
  for (const member of removed) if (set?.delete(member)) count += 1;
  call.store.drop(key!);
  return count;
}

export const SET_COMMANDS: Commands = {
  sadd: write(2, Infinity, add),
  scard: read(1, 1, (call) => members(call)?.size ?? 0),
  sismember: read(2, 2, (call) => (members(call)?.has(call.args[1]!) ? 1 : 0)),
  smembers: read(1, 1, (call) => [...(members(call) ?? [])]),
  smismember: read(2, Infinity, (call) => {
    const set = members(call);
    return call.args.slice(1).map((member) => (set?.has(member) ? 1 : 0));
  }),
  srem: write(2, Infinity, remove),
  sscan: read(2, 6, (call) => ['0', [...(members(call) ?? [])].filter(scanFilter(call.args.slice(2)))]),
};
