import type { Reply } from '../reply.js';
import { OK, ReplyError, Status, syntaxError } from '../reply.js';
import type { Kind } from '../store/keyspace.js';
import type { Call, Commands } from './command.js';
import { globOf, integer, read, scanFilter, write } from './command.js';

const SECOND = 1_000;

function expire(call: Call, unit: number, isInstant: boolean): number {
  const [key, text, flag] = call.args;
  const { store } = call;
  const time = integer(text) * unit;
  const entry = store.get(key!);
  if (!entry) return 0;
  const at = isInstant ? time : store.now + time;
  const before = entry.expiresAt;
  switch (flag?.toUpperCase()) {
    case undefined:
      break;
    case 'NX':
      if (before !== undefined) return 0;
      break;
    case 'XX':
      if (before === undefined) return 0;
      break;
    case 'GT':
      if (before === undefined || at <= before) return 0;
      break;
    case 'LT':
      if (before !== undefined && at >= before) return 0;
      break;
    default:
      throw new ReplyError(`ERR Unsupported option ${flag!}`);
  }
  if (at <= store.now) store.delete(key!);
  else entry.expiresAt = at;
  return 1;
}

/** -2 without the key, -1 without an expiry. */
function expiry({ store, args }: Call, compute: (at: number) => number): number {
  const entry = store.get(args[0]!);
  if (!entry) return -2;
  return entry.expiresAt === undefined ? -1 : compute(entry.expiresAt);
}

function rename({ store, args: [key, name] }: Call): Reply {
  if (!store.get(key!)) throw new ReplyError('ERR no such key');
  store.rename(key!, name!);
  return OK;
}

function remove({ store, args }: Call): number {
  return args.filter((key) => store.delete(key)).length;
}

const COMPACT: Readonly<Record<Kind, string>> = {
  string: 'raw',
  list: 'quicklist',
  hash: 'listpack',
  set: 'hashtable',
  zset: 'listpack',
  stream: 'stream',
};
const LARGE: Readonly<Record<Kind, string>> = { ...COMPACT, hash: 'hashtable', zset: 'skiplist' };

/** Exact for hashes and sorted sets. */
function object({ store, args: [subject, key] }: Call): Reply {
  if (subject!.toUpperCase() !== 'ENCODING') throw new ReplyError(`ERR OBJECT ${subject!} is not emulated`);
  const entry = store.get(key!);
  return entry ? (entry.isLarge ? LARGE : COMPACT)[entry.kind] : null;
}

function scan({ store, args: [, ...options] }: Call): Reply {
  const at = options.findIndex((option) => option.toUpperCase() === 'TYPE');
  const kind = at < 0 ? undefined : options.splice(at, 2)[1];
  return [
    '0',
    store
      .keys()
      .filter(scanFilter(options))
      .filter((key) => !kind || store.get(key)!.kind === kind),
  ];
}

function flush({ store, args }: Call): Reply {
  if (args.length > 0 && !['ASYNC', 'SYNC'].includes(args[0]!.toUpperCase())) throw syntaxError();
  store.clear();
  return OK;
}

const exists = ({ store, args }: Call): number => args.filter((key) => store.get(key)).length;

export const KEY_COMMANDS: Commands = {
  dbsize: read(0, 0, ({ store }) => store.keys().length),
  del: write(1, Infinity, remove),
  exists: read(1, Infinity, exists),
  expire: write(2, 3, (call) => expire(call, SECOND, false)),
  expireat: write(2, 3, (call) => expire(call, SECOND, true)),
  expiretime: read(1, 1, (call) => expiry(call, (at) => Math.floor(at / SECOND))),
  flushall: write(0, 1, flush),
  flushdb: write(0, 1, flush),
  keys: read(1, 1, ({ store, args }) => {
    const pattern = globOf(args[0]!);
    return store.keys().filter((key) => pattern.test(key));
  }),
  object: read(2, 2, object),
  persist: write(1, 1, ({ store, args }) => {
    const entry = store.get(args[0]!);
    if (entry?.expiresAt === undefined) return 0;
    entry.expiresAt = undefined;
    return 1;
  }),
  pexpire: write(2, 3, (call) => expire(call, 1, false)),
  pexpireat: write(2, 3, (call) => expire(call, 1, true)),
  pexpiretime: read(1, 1, (call) => expiry(call, (at) => at)),
  pttl: read(1, 1, (call) => expiry(call, (at) => at - call.store.now)),
  rename: write(2, 2, rename),
  scan: read(1, 7, scan),
  touch: read(1, Infinity, exists),
  ttl: read(1, 1, (call) => expiry(call, (at) => Math.round((at - call.store.now) / SECOND))),
  type: read(1, 1, ({ store, args }) => new Status(store.get(args[0]!)?.kind ?? 'none')),
  unlink: write(1, Infinity, remove),
};
