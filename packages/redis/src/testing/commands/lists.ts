import type { Reply } from '../reply.js';
import { OK, ReplyError, syntaxError } from '../reply.js';
import type { Call, Commands } from './command.js';
import { bounds, integer, read, write } from './command.js';

function list({ store, args }: Call): string[] | undefined {
  return store.read(args[0]!, 'list');
}

function push(call: Call, isFirst: boolean, mayMake: boolean): number {
  const [key, ...values] = call.args;
  if (!mayMake && !list(call)) return 0;
  const items = call.store.open(key!, 'list');
  if (isFirst) items.unshift(...values.toReversed());
  else for (const value of values) items.push(value);
  return items.length;
}

function pop(call: Call, isFirst: boolean): Reply {
  const [key, count] = call.args;
  const most = count === undefined ? 1 : integer(count);
  if (most < 0) throw new ReplyError('ERR value is out of range, must be positive');
  const items = list(call);
  if (!items) return null;
  const taken = isFirst ? items.splice(0, most) : items.splice(Math.max(0, items.length - most)).toReversed();
  call.store.drop(key!);
  return count === undefined ? (taken[0] ?? null) : taken;
}

function place(items: readonly string[], index: number): number {
  return index < 0 ? items.length + index : index;
}

function set(call: Call): Reply {
  const items = list(call);
  if (!items) throw new ReplyError('ERR no such key');
  const at = place(items, integer(call.args[1]));
  if (at < 0 || at >= items.length) throw new ReplyError('ERR index out of range');
  items[at] = call.args[2]!;
  return OK;
}

function remove(call: Call): number {
  const count = integer(call.args[1]);
  const items = list(call);
  if (!items) return 0;
  const most = count === 0 ? Infinity : Math.abs(count);
  let removed = 0;
  const step = count < 0 ? -1 : 1;
  for (let at = count < 0 ? items.length - 1 : 0; at >= 0 && at < items.length && removed < most;) {
    if (items[at] === call.args[2]) {
      items.splice(at, 1);
      removed += 1;
      if (step < 0) at -= 1;
    } else at += step;
  }
  call.store.drop(call.args[0]!);
  return removed;
}

function find(call: Call): Reply {
  const options = new Map<string, number>();
  for (let at = 2; at < call.args.length; at += 2) {
    const name = call.args[at]!.toUpperCase();
    if (!['RANK', 'COUNT', 'MAXLEN'].includes(name)) throw syntaxError();
    options.set(name, integer(call.args[at + 1]));
  }
  const items = list(call) ?? [];
  const rank = options.get('RANK') ?? 1;
  const count = options.get('COUNT');
  const reach = options.get('MAXLEN') || Infinity;
  const found: number[] = [];
  let skip = Math.abs(rank) - 1;
  for (let looked = 0; looked < Math.min(reach, items.length); looked += 1) {
    const at = rank < 0 ? items.length - 1 - looked : looked;
    if (items[at] !== call.args[1]) continue;
    skip -= 1;
    if (skip < 0) found.push(at);
    if (found.length === (count ?? 1)) break;
  }
  return count === undefined ? (found[0] ?? null) : found;
}

function trim(call: Call): Reply {
  const items = list(call);
  if (items) {
    const [from, to] = bounds(integer(call.args[1]), integer(call.args[2]), items.length);
    items.splice(to);
    items.splice(0, from);
    call.store.drop(call.args[0]!);
  }
  return OK;
}

function move({ store, args: [from, to, side, other] }: Call): Reply {
  const items = store.read(from!, 'list');
  if (!items) return null;
  store.read(to!, 'list');
  const value = side!.toUpperCase() === 'LEFT' ? items.shift()! : items.pop()!;
  const target = store.open(to!, 'list');
  if (other!.toUpperCase() === 'LEFT') target.unshift(value);
  else target.push(value);
  store.drop(from!);
  return value;
}

export const LIST_COMMANDS: Commands = {
  lindex: read(2, 2, (call) => {
    const items = list(call) ?? [];
    return items[place(items, integer(call.args[1]))] ?? null;
  }),
  llen: read(1, 1, (call) => list(call)?.length ?? 0),
  lmove: write(4, 4, move),
  lpop: write(1, 2, (call) => pop(call, true)),
  lpos: read(2, 8, find),
  lpush: write(2, Infinity, (call) => push(call, true, true)),
  lpushx: write(2, Infinity, (call) => push(call, true, false)),
  lrange: read(3, 3, (call) => {
    const items = list(call) ?? [];
    return items.slice(...bounds(integer(call.args[1]), integer(call.args[2]), items.length));
  }),
  lrem: write(3, 3, remove),
  lset: write(3, 3, set),
  ltrim: write(3, 3, trim),
  rpop: write(1, 2, (call) => pop(call, false)),
  rpush: write(2, Infinity, (call) => push(call, false, true)),
  rpushx: write(2, Infinity, (call) => push(call, false, false)),
};
