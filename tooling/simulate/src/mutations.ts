/**
 * Defects that are planted in the text of the packages as it is loaded, to show that the rules find them. No file is changed. A
 * defect whose text is gone ends the run, so the proof can't silently become none.
 */
import type { Change } from './world/realm.js';

export interface Mutation extends Change {
  /** The workload that must find it. */
  readonly workload: string;
  /** The rule that it breaks. */
  readonly invariant: string;
  readonly name: string;
}

type Planted = readonly [invariant: string, name: string, find: string, replacement: string];

const LOCKS: readonly Planted[] = [
  [
    'exclusion',
    'a release of a Mutex ignores the holder',
    "waiters = redis.pcall('ZCARD', queue)\nisHolder = holder == member",
    "waiters = redis.pcall('ZCARD', queue)\nisHolder = holder",
  ],
  [
    'exclusion',
    'a renewal of a Mutex does not extend the lease',
    "local isHolder = holder == member\nif isHolder then\nredis.call('PEXPIRE', lease, leaseMs, 'GT')",
    'local isHolder = holder == member\nif isHolder then',
  ],
  [
    'exclusion',
    'the grant of a Mutex is not stored',
    "redis.call('SET', lease, head, 'PX', confirmMs)",
    "redis.call('DEL', lease)",
  ],
  [
    'token order',
    'the token of a granted Mutex does not rise',
    "local fencingToken = isFair and nextFencingToken(token) or ''",
    "local fencingToken = string.format('%.0f', clockText() - 1000000)",
  ],
  ['exclusion', 'a Semaphore counts waiters, not permits', 'used + weight <= limit', 'used < limit'],
  [
    'progress',
    'permits of a dead holder never end',
    'elseif firstEnd and firstEnd <= now then',
    'elseif firstEnd and firstEnd <= 0 then',
  ],
  [
    'exclusion',
    'a release of a Semaphore counts twice',
    'used, isChanged, hasLeft = math.max(0, used - weightOf(member)), true, true',
    'used, isChanged, hasLeft = math.max(0, used - 2 * weightOf(member)), true, true',
  ],
  [
    'exclusion',
    'a writer is granted beside readers',
    "if role == 'w' and not isBlocked and redis.call('EXISTS', readers) == 1 then",
    "if role == 'w' and not isBlocked and redis.call('EXISTS', readers) == 2 then",
  ],
  [
    'exclusion',
    'a reader enters beside a writer',
    'local isFree = not writer and not isQueued and (isReader or not areReadersIn())',
    'local isFree = isReader or not writer and not isQueued and not areReadersIn()',
  ],
  ['fencing', 'a holder believes in a lease that is over', 'performance.now() < this.#endsAt', 'true'],
  [
    'progress',
    'a dead waiter is never dropped',
    "redis.call('ZREM', queue, head)\nend\nredis.call('DEL', lease)",
    'return\nend',
  ],
];

const QUEUES: readonly Planted[] = [
  [
    'acks by the holder only',
    'an ack ignores the lease',
    "if state == 'A' and held == given then",
    "if state == 'A' then",
  ],
  [
    'acks by the holder only',
    'a renewal ignores the lease',
    "if state == 'A' and token == tonumber(leases[2 * i]) then\nrenewed",
    "if state == 'A' then\nrenewed",
  ],
  [
    'at least once',
    'an ended lease is dropped with its task',
    'putBack(expired[i], flags, group, now, attempt, reason)',
    'local _ = expired',
  ],
  [
    'one execution at a time',
    'a lease ends early',
    "local expired = redis.call('ZRANGEBYSCORE', active, '-inf', string.format('%.0f', now)",
    "local expired = redis.call('ZRANGEBYSCORE', active, '-inf', string.format('%.0f', now + 900)",
  ],
  [
    'attempts are counted',
    'a failed attempt is not counted',
    "verdict == 'R' and attempt or attempt - 1",
    'attempt - 1',
  ],
  [
    'accounting of each id',
    'a dead task is not listed',
    "redis.call('ZADD', dead, now, id)\nhasDied = true",
    'hasDied = true',
  ],
  [
    'accounting of each id',
    'a task that waits for its retry is not listed',
    "redis.call('ZADD', priorityKeys[3 * (flags % PRIORITIES) + 3], string.format('%.3f', at), id)",
    'local _ = at',
  ],
  [
    'accounting of each id',
    'an id is handed off twice',
    "redis.call('HSETNX', tasks, id, record) == 1",
    "redis.call('HSET', tasks, id, record) < 2",
  ],
  [
    'one execution at a time',
    'a started task does not count in its group',
    'state[2] = state[2] + 1',
    'state[2] = state[2]',
  ],
  [
    'acks by the holder only',
    'a worker relies on leases for too long',
    'return sentAt + leaseMs - 1;',
    'return sentAt + 3 * leaseMs;',
  ],
];

const MESSAGING: readonly Planted[] = [
  ['no loss', 'an ack frees messages that others have not read', 'if floor > lowest then', 'floor = last do'],
  [
    'no message twice',
    'a repeated post is stored again',
    'local id = known[2] or older[1]\nif id then',
    'local id\nif id then',
  ],
  [
    'order',
    'a message is stored before the others',
    "stored = redis.call('RPUSH', log, entries[1])",
    "stored = redis.call('LPUSH', log, entries[1])",
  ],
  [
    'exact unread',
    'the ack of a member is not stored',
    "redis.call('ZADD', chat, upToText, member)",
    "redis.call('ZADD', chat, 'LT', upToText, member)",
  ],
  [
    'exact unread',
    'the ack of a device is not stored',
    "redis.call('ZADD', mailbox, 'XX', 'GT', unpack(written))",
    'local _ = written',
  ],
  [
    'no loss',
    'the ack of a device frees messages of other devices',
    "local slowest = redis.call('ZRANGE', mailbox, '4', '4', 'WITHSCORES')",
    "local slowest = { '', last }",
  ],
];

const CACHE: readonly Planted[] = [
  [
    'no old value',
    'a load is stored without its lease',
    "local isOwn = token == '' or (current",
    'local isOwn = true or (current',
  ],
  [
    'one load a key',
    'a lease is granted beside another',
    'elseif token and not isVoid then',
    'elseif token and isVoid then',
  ],
  [
    'freshness bound',
    'a value lives for too long',
    'Math.ceil(fullTtlMs * (1 - jitter',
    'Math.ceil(50 * fullTtlMs * (1 - jitter',
  ],
  [
    'no old value',
    'a value outlives the version of its tag',
    'Number(version.toString()) <= token',
    'Number(version.toString()) > 0',
  ],
];

const AUTOCOMPLETE: readonly Planted[] = [
  ['each boost once', 'a repeated boost counts again', 'if isMade then', 'if false then'],
  [
    'no torn entry',
    'a replaced entry keeps its old words',
    'if not keep[member] then\ndrop(member)\nend',
    'if not keep[member] then\nlocal _ = member\nend',
  ],
  ['exact size', 'a removed entry is counted', 'uncounted = uncounted - 1', 'uncounted = uncounted + 0'],
];

const MARKET: readonly Planted[] = [
  [
    'money conserved',
    'a seller gets no coins',
    "redis.call('HINCRBY', funds, sellerId, price)",
    'local _ = sellerId',
  ],
  [
    'money conserved',
    'a buyer may owe coins',
    'if tonumber(coins) < tonumber(price) then',
    'if tonumber(coins) < 0 then',
  ],
  [
    'each item in one place',
    'a listed item stays in the inventory',
    "redis.call('ZREM', inventory,",
    "redis.call('ZSCORE', inventory,",
  ],
  [
    'each receipt is given',
    'a repeated purchase is a new one',
    "local earlierId = requestKey ~= '' and redis.call('HGET', requests, requestKey) or saleId",
    'local earlierId = saleId',
  ],
];

function planted(workload: string, list: readonly Planted[], folder = workload): Mutation[] {
  return list.map(([invariant, name, find, replacement]) => ({
    workload,
    invariant,
    name,
    package: folder,
    find,
    replacement,
  }));
}

export const MUTATIONS: readonly Mutation[] = [
  ...planted('locks', LOCKS),
  ...planted('queues', QUEUES),
  ...planted('messaging', MESSAGING),
  ...planted('autocomplete', AUTOCOMPLETE),
  ...planted('cache', CACHE),
  ...planted('market', MARKET, '../apps/api'),
];

/** Throws for a name that no mutation has. */
export function mutationOf(name: string): Mutation {
  const mutation = MUTATIONS.find((one) => one.name === name);
  if (!mutation) throw new RangeError(`there is no mutation "${name}"`);
  return mutation;
}
