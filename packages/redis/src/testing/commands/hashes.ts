import { general } from '../lua/number-format.js';
import type { Reply } from '../reply.js';
import { OK, ReplyError } from '../reply.js';
import type { Call, Commands } from './command.js';
import { float, integer, read, scanFilter, write } from './command.js';

function hash({ store, args }: Call): Map<string, string> | undefined {
  return store.read(args[0]!, 'hash');
}

function set(call: Call, name: string): number {
  const [key, ...pairs] = call.args;
  if (pairs.length % 2 === 1) throw new ReplyError(`ERR wrong number of arguments for '${name}' command`);
  const fields = call.store.open(key!, 'hash');
  const before = fields.size;
  for (let at = 0; at < pairs.length; at += 2) fields.set(pairs[at]!, pairs[at + 1]!);
  call.store.grow(key!, ...pairs);
  return fields.size - before;
}

function remove(call: Call): number {
  const [key, ...names] = call.args;
  const fields = hash(call);
  let removed = 0;
  for (const name of names) if (fields?.delete(name)) removed += 1;
  call.store.drop(key!);
  return removed;
}

function increment(call: Call): number {
  const by = integer(call.args[2]);
  const known = hash(call)?.get(call.args[1]!);
  let value = 0;
  try {
    value = known === undefined ? 0 : integer(known);
  } catch {
    throw new ReplyError('ERR hash value is not an integer');
  }
  call.store.open(call.args[0]!, 'hash').set(call.args[1]!, String(value + by));
  call.store.grow(call.args[0]!);
  return value + by;
}

function incrementByFloat(call: Call): string {
  const [key, name, by] = call.args;
  const sum = general(float(hash(call)?.get(name!) ?? '0') + float(by), 17);
  call.store.open(key!, 'hash').set(name!, sum);
  return sum;
}

const all = (call: Call): string[] => [...(hash(call) ?? [])].flat();

export const HASH_COMMANDS: Commands = {
  hdel: write(2, Infinity, remove),
  hexists: read(2, 2, (call) => (hash(call)?.has(call.args[1]!) ? 1 : 0)),
  hget: read(2, 2, (call) => hash(call)?.get(call.args[1]!) ?? null),
  hgetall: read(1, 1, all),
  hincrby: write(3, 3, increment),
  hincrbyfloat: write(3, 3, incrementByFloat),
  hkeys: read(1, 1, (call) => [...(hash(call)?.keys() ?? [])]),
  hlen: read(1, 1, (call) => hash(call)?.size ?? 0),
  hmget: read(2, Infinity, (call): Reply => {
    const fields = hash(call);
    return call.args.slice(1).map((name) => fields?.get(name) ?? null);
  }),
  hmset: write(3, Infinity, (call) => {
    set(call, 'hmset');
    return OK;
  }),
  hscan: read(2, 6, (call) => {
    const isWanted = scanFilter(call.args.slice(2));
    return ['0', [...(hash(call) ?? [])].filter(([name]) => isWanted(name)).flat()];
  }),
  hset: write(3, Infinity, (call) => set(call, 'hset')),
  hsetnx: write(3, 3, (call) => (hash(call)?.has(call.args[1]!) ? 0 : set(call, 'hsetnx'))),
  hstrlen: read(2, 2, (call) => hash(call)?.get(call.args[1]!)?.length ?? 0),
  hvals: read(1, 1, (call) => [...(hash(call)?.values() ?? [])]),
};
