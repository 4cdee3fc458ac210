import type { Reply } from '../reply.js';
import { ReplyError, syntaxError } from '../reply.js';
import type { StreamEntry, StreamId } from '../store/stream.js';
import { compareIds, idText } from '../store/stream.js';
import type { Call, Commands } from './command.js';
import { integer, read, write } from './command.js';

const LARGEST = 2n ** 64n - 1n;

function idOf(text: string, missingSeq: bigint): StreamId {
  const match = /^(\d+)(?:-(\d+))?$/.exec(text);
  if (!match) throw new ReplyError('ERR Invalid stream ID specified as stream command argument');
  return { ms: BigInt(match[1]!), seq: match[2] === undefined ? missingSeq : BigInt(match[2]) };
}

interface Trim {
  readonly minId: StreamId | undefined;
  readonly maxLen: number | undefined;
  /** How many arguments it has. */
  readonly size: number;
}

/** MAXLEN or MINID. `~` may keep more; this keeps none. */
function trimOf(args: readonly string[]): Trim {
  const name = args[0]?.toUpperCase();
  if (name !== 'MAXLEN' && name !== 'MINID') return { minId: undefined, maxLen: undefined, size: 0 };
  const isMarked = args[1] === '~' || args[1] === '=';
  const value = args[isMarked ? 2 : 1]!;
  const size = (isMarked ? 3 : 2) + (args[isMarked ? 3 : 2]?.toUpperCase() === 'LIMIT' ? 2 : 0);
  if (name === 'MINID') return { minId: idOf(value, 0n), maxLen: undefined, size };
  return { minId: undefined, maxLen: integer(value), size };
}

function trimmed(entries: StreamEntry[], { minId, maxLen }: Trim): StreamEntry[] {
  if (minId) return entries.filter((entry) => compareIds(entry, minId) >= 0);
  return maxLen === undefined ? entries : entries.slice(Math.max(0, entries.length - maxLen));
}

function nextId(text: string, last: StreamId, now: number): StreamId {
  if (text === '*') {
    const ms = BigInt(Math.floor(now));
    return ms > last.ms ? { ms, seq: 0n } : { ms: last.ms, seq: last.seq + 1n };
  }
  if (text.endsWith('-*')) {
    const ms = BigInt(text.slice(0, -2));
    return { ms, seq: ms === last.ms ? last.seq + 1n : 0n };
  }
  return idOf(text, 0n);
}

function add({ store, args: [key, ...rest] }: Call): Reply {
  const makes = rest[0]?.toUpperCase() !== 'NOMKSTREAM';
  const options = makes ? rest : rest.slice(1);
  const trim = trimOf(options);
  const [text, ...fields] = options.slice(trim.size);
  if (text === undefined || fields.length === 0 || fields.length % 2 === 1)
    throw new ReplyError("ERR wrong number of arguments for 'xadd' command");
  if (/^0+(?:-0+)?$/.test(text))
    throw new ReplyError('ERR The ID specified in XADD must be greater than 0-0');
  const known = store.read(key!, 'stream');
  if (!known && !makes) return null;
  const last = known?.last ?? { ms: 0n, seq: 0n };
  const id = nextId(text, last, store.now);
  if (compareIds(id, last) <= 0)
    throw new ReplyError('ERR The ID specified in XADD is equal or smaller than the target stream top item');
  const stream = store.open(key!, 'stream');
  stream.entries.push({ ...id, fields });
  stream.last = id;
  stream.entries = trimmed(stream.entries, trim);
  return idText(id);
}

function bound(text: string, isLast: boolean): StreamId {
  if (text === '-') return { ms: 0n, seq: 0n };
  if (text === '+') return { ms: LARGEST, seq: LARGEST };
  if (!text.startsWith('(')) return idOf(text, isLast ? LARGEST : 0n);
  const { ms, seq } = idOf(text.slice(1), isLast ? LARGEST : 0n);
  if (isLast) return seq > 0n ? { ms, seq: seq - 1n } : { ms: ms - 1n, seq: LARGEST };
  return seq < LARGEST ? { ms, seq: seq + 1n } : { ms: ms + 1n, seq: 0n };
}

function range({ store, args: [key, first, last, name, count] }: Call, isReversed: boolean): Reply {
  if (name !== undefined && name.toUpperCase() !== 'COUNT') throw syntaxError();
  const [from, to] = isReversed ? [last!, first!] : [first!, last!];
  const [least, most] = [bound(from, false), bound(to, true)];
  const entries = (store.read(key!, 'stream')?.entries ?? []).filter(
    (entry) => compareIds(entry, least) >= 0 && compareIds(entry, most) <= 0,
  );
  const ordered = isReversed ? entries.toReversed() : entries;
  return ordered
    .slice(0, count === undefined ? undefined : integer(count))
    .map((entry) => [idText(entry), [...entry.fields]]);
}

function cut({ store, args: [key, ...rest] }: Call): number {
  const stream = store.read(key!, 'stream');
  if (!stream) return 0;
  const kept = trimmed(stream.entries, trimOf(rest));
  const removed = stream.entries.length - kept.length;
  stream.entries = kept;
  return removed;
}

function remove({ store, args: [key, ...ids] }: Call): number {
  const stream = store.read(key!, 'stream');
  if (!stream) return 0;
  const gone = new Set(ids.map((text) => idText(idOf(text, 0n))));
  const kept = stream.entries.filter((entry) => !gone.has(idText(entry)));
  const removed = stream.entries.length - kept.length;
  stream.entries = kept;
  return removed;
}

export const STREAM_COMMANDS: Commands = {
  xadd: write(4, Infinity, add),
  xdel: write(2, Infinity, remove),
  xlen: read(1, 1, ({ store, args }) => store.read(args[0]!, 'stream')?.entries.length ?? 0),
  xrange: read(3, 5, (call) => range(call, false)),
  xrevrange: read(3, 5, (call) => range(call, true)),
  xtrim: write(3, Infinity, cut),
};
