import { general } from '../lua/number-format.js';
import type { Reply } from '../reply.js';
import { ReplyError, syntaxError } from '../reply.js';
import type { Scored, SortedSet } from '../store/sorted-set.js';
import type { Call, Commands } from './command.js';
import { bounds, float, integer, read, scanFilter, write } from './command.js';
import { lexBounds, RANGE_COMMANDS, scoreBounds } from './ranges.js';

/** As Redis 7.0 writes scores. */
const scoreText = (score: number): string => general(score, 17);

function zset({ store, args }: Call): SortedSet | undefined {
  return store.read(args[0]!, 'zset');
}

const FLAGS = new Set(['NX', 'XX', 'GT', 'LT', 'CH', 'INCR']);

/** The new score of a member; undefined if the flags forbid it. */
function nextScore(known: number | undefined, score: number, flags: ReadonlySet<string>): number | undefined {
  if (known === undefined) return flags.has('XX') ? undefined : score;
  if (flags.has('NX')) return undefined;
  const next = flags.has('INCR') ? known + score : score;
  if ((flags.has('GT') && next <= known) || (flags.has('LT') && next >= known)) return undefined;
  return next;
}

function add(call: Call): Reply {
  const { store, args } = call;
  const flags = new Set<string>();
  let at = 1;
  for (; FLAGS.has(args[at]?.toUpperCase() ?? ''); at += 1) flags.add(args[at]!.toUpperCase());
  const pairs = args.slice(at);
  if (pairs.length === 0 || pairs.length % 2 === 1) throw syntaxError();
  if (flags.has('INCR') && pairs.length > 2)
    throw new ReplyError('ERR INCR option supports a single increment-element pair');
  const hasBoth = (one: string, other: string): boolean => flags.has(one) && flags.has(other);
  if (hasBoth('NX', 'XX') || hasBoth('NX', 'GT') || hasBoth('NX', 'LT') || hasBoth('GT', 'LT'))
    throw new ReplyError('ERR GT, LT, and/or NX options at the same time are not compatible');
  const scores = pairs.filter((_, index) => index % 2 === 0).map(float);
  const set = store.open(args[0]!, 'zset');
  let [added, changed] = [0, 0];
  let last: number | undefined;
  for (const [index, score] of scores.entries()) {
    const member = pairs[2 * index + 1]!;
    const known = set.score(member);
    const next = nextScore(known, score, flags);
    last = next;
    if (next === undefined) continue;
    if (Number.isNaN(next)) throw new ReplyError('ERR resulting score is not a number (NaN)');
    set.set(member, next);
    store.grow(args[0]!, member);
    if (known === undefined) added += 1;
    else if (known !== next) changed += 1;
  }
  store.drop(args[0]!);
  if (flags.has('INCR')) return last === undefined ? null : scoreText(last);
  return flags.has('CH') ? added + changed : added;
}

function remove(call: Call): number {
  const [key, ...members] = call.args;
  const set = zset(call);
  let removed = 0;
  for (const member of members) if (set?.delete(member)) removed += 1;
  call.store.drop(key!);
  return removed;
}

function removeAll(call: Call, [from, to]: readonly [number, number]): number {
  const set = zset(call);
  const entries = set?.slice(from, Math.max(from, to)) ?? [];
  for (const { member } of entries) set!.delete(member);
  call.store.drop(call.args[0]!);
  return entries.length;
}

function removeByRank(call: Call): number {
  const [first, last] = [integer(call.args[1]), integer(call.args[2])];
  return removeAll(call, bounds(first, last, zset(call)?.size ?? 0));
}

function pop(call: Call, isLast: boolean): Reply {
  const set = zset(call);
  const count = call.args[1] === undefined ? 1 : integer(call.args[1]);
  const size = set?.size ?? 0;
  const entries: Scored[] =
    set?.slice(...(isLast ? ([Math.max(0, size - count), size] as const) : ([0, count] as const))) ?? [];
  for (const { member } of entries) set!.delete(member);
  call.store.drop(call.args[0]!);
  const ordered = isLast ? entries.toReversed() : entries;
  return ordered.flatMap(({ member, score }) => [member, scoreText(score)]);
}

function rank(call: Call, isReversed: boolean): Reply {
  const set = zset(call);
  const place = set?.rank(call.args[1]!);
  if (place === undefined) return null;
  return isReversed ? set!.size - 1 - place : place;
}

function scoreOf(set: SortedSet | undefined, member: string): string | null {
  const score = set?.score(member);
  return score === undefined ? null : scoreText(score);
}

/** The places of a range of scores or members. Redis reads the range before the key. */
function within(call: Call, places: typeof scoreBounds): readonly [from: number, to: number] {
  const [, min, max] = call.args;
  places(undefined, min!, max!);
  return places(zset(call), min!, max!);
}

function sizeOf([from, to]: readonly [number, number]): number {
  return Math.max(0, to - from);
}

export const SORTED_SET_COMMANDS: Commands = {
  ...RANGE_COMMANDS,
  zadd: write(3, Infinity, add),
  zcard: read(1, 1, (call) => zset(call)?.size ?? 0),
  zcount: read(3, 3, (call) => sizeOf(within(call, scoreBounds))),
  zincrby: write(3, 3, ({ store, args: [key, by, member] }) =>
    add({ store, args: [key!, 'INCR', by!, member!] }),
  ),
  zlexcount: read(3, 3, (call) => sizeOf(within(call, lexBounds))),
  zmscore: read(2, Infinity, (call) => {
    const set = zset(call);
    return call.args.slice(1).map((member) => scoreOf(set, member));
  }),
  zpopmax: write(1, 2, (call) => pop(call, true)),
  zpopmin: write(1, 2, (call) => pop(call, false)),
  zrank: read(2, 2, (call) => rank(call, false)),
  zrem: write(2, Infinity, remove),
  zremrangebylex: write(3, 3, (call) => removeAll(call, within(call, lexBounds))),
  zremrangebyrank: write(3, 3, removeByRank),
  zremrangebyscore: write(3, 3, (call) => removeAll(call, within(call, scoreBounds))),
  zrevrank: read(2, 2, (call) => rank(call, true)),
  zscan: read(2, 6, (call) => {
    const isWanted = scanFilter(call.args.slice(2));
    const entries = zset(call)?.slice(0, Infinity) ?? [];
    return [
      '0',
      entries
        .filter(({ member }) => isWanted(member))
        .flatMap(({ member, score }) => [member, scoreText(score)]),
    ];
  }),
  zscore: read(2, 2, (call) => scoreOf(zset(call), call.args[1]!)),
};
