/**
 * The model of `npm run capacity`, which docs/SCALING.md explains:
 *
 *   CPU of Redis     operations a second × CPU of an operation, summed over all kinds
 *   busiest master   that sum × the part of the shards that the master with the most shards has
 *   masters          the smallest number with which the busiest master has enough CPU, and the fullest one enough memory
 *   processes        the larger number of two: enough CPU of Node, or enough slots for the handlers
 */
import { figure, measured } from './figures.mjs';

const TASKS = '@mortise/queues';
const MOST_SHARDS = 64;
const MOST_MASTERS = 1_000;
const SLOTS = 16_384;
/** The size of the payloads in the benchmarks. */
const MEASURED_BYTES = 100;
/** CPU of several masters ÷ CPU of one, if `queues.shards` was not measured: the limit that this benchmark sets. */
const BAR = 1.15;
const BOTH = 'Redis CPU µs, enqueue + drain';

/** Kinds of operations: the option, its benchmark, and the names of its figures. */
export const KINDS = {
  'tasks-per-second': {
    what: 'tasks stored and run',
    redis: ['queues.drain-100', TASKS, BOTH],
    node: ['queues.drain-100', TASKS, 'Node CPU µs'],
    commands: ['queues.drain-100', TASKS, 'commands run'],
  },
  'locks-per-second': {
    what: 'locks acquired and released',
    redis: ['locks.uncontended-50-slots', '@mortise/locks', 'Redis CPU µs'],
    node: ['locks.uncontended-50-slots', '@mortise/locks', 'Node CPU µs'],
    commands: ['locks.uncontended-50-slots', '@mortise/locks', 'commands run'],
  },
  'messages-per-second': {
    what: 'messages posted',
    redis: ['messaging.post-50-chats', '@mortise/messaging', 'Redis CPU µs'],
    node: ['messaging.post-50-chats', '@mortise/messaging', 'Node CPU µs'],
    commands: ['messaging.post-50-chats', '@mortise/messaging', 'commands run'],
  },
  'completions-per-second': {
    what: 'prefixes completed',
    redis: ['autocomplete.complete-100k', '@mortise/autocomplete', 'Redis CPU µs'],
    node: ['autocomplete.complete-100k', '@mortise/autocomplete', 'Node CPU µs'],
    commands: ['autocomplete.complete-100k', '@mortise/autocomplete', 'commands run'],
  },
  'rows-per-second': {
    what: 'rows refreshed',
    redis: ['cache.rows-1', '@mortise/cache', 'Redis CPU µs'],
    node: ['cache.rows-1', '@mortise/cache', 'Node CPU µs'],
    commands: ['cache.rows-1', '@mortise/cache', 'commands run'],
  },
  'reads-per-second': {
    what: 'cached values read',
    redis: ['cache.get-100', '@mortise/cache', 'Redis CPU µs'],
    node: ['cache.get-100', '@mortise/cache', 'Node CPU µs'],
    commands: ['cache.get-100', '@mortise/cache', 'commands run'],
  },
};

/** Stored items: the option, and the bytes of one. */
export const ITEMS = {
  backlog: {
    what: 'waiting tasks',
    bytes: ['queues.memory', TASKS, 'bytes of a waiting task'],
    hasPayload: true,
  },
  kept: { what: 'kept tasks', bytes: ['queues.memory', TASKS, 'bytes of a kept task'], hasPayload: true },
  messages: {
    what: 'stored messages',
    bytes: ['messaging.memory', '@mortise/messaging', 'bytes a message, 100 K in a chat'],
    hasPayload: false,
  },
  names: {
    what: 'names in address books',
    bytes: ['autocomplete.complete-100k', '@mortise/autocomplete', 'bytes a name'],
    hasPayload: false,
  },
};

/** CPU of an operation on several masters together ÷ its CPU on one. `isMeasured`: by `queues.shards`. */
function costOfMasters(masters) {
  if (masters === 1) return { times: 1, isMeasured: true };
  const name = `${Math.min(masters, 3)} masters, 12 shards`;
  const times = figure('queues.shards', name, 'Redis CPU µs ÷ 1 master, 1 shard');
  return times === undefined ? { times: BAR, isMeasured: false } : { times, isMeasured: true };
}

/** The number of shards of these queues on each master, if all masters have the same number of slots. */
export function shardsOnMasters(queues, shards, masters) {
  const counts = Array.from({ length: masters }, () => 0);
  for (const queue of queues) {
    for (let shard = 0; shard < shards; shard += 1) {
      const tag = shard === 0 ? queue : `${queue}%%${shard}`;
      counts[Math.floor((slotOf(tag) * masters) / SLOTS)] += 1;
    }
  }
  return counts;
}

/** The smallest number of shards with which no master has more than 1.2 times its equal part; otherwise the best number. */
function bestShards(queues, masters) {
  let best = { shards: 1, share: Infinity };
  for (
    let shards = Math.min(MOST_SHARDS, Math.ceil(masters / queues.length));
    shards <= MOST_SHARDS;
    shards += 1
  ) {
    const share = Math.max(...shardsOnMasters(queues, shards, masters)) / (shards * queues.length);
    if (share < best.share) best = { shards, share };
    if (share * masters <= 1.2) break;
  }
  return best;
}

/**
 * @param rates Operations a second by kind.
 * @param items Numbers of stored items by kind.
 * @returns The smallest plan that carries the load, with all figures of its computation; undefined if there is none.
 */
export function plan(
  rates,
  items,
  { payloadBytes, handlerMs, queues, coreShare, nodeShare, memoryGb, concurrency },
) {
  const kinds = Object.entries(KINDS).map(([option, { redis, node, commands, ...kind }]) => ({
    ...kind,
    option,
    perSecond: rates[option] ?? 0,
    redisMicros: measured(...redis),
    nodeMicros: measured(...node),
    commands: measured(...commands),
  }));
  const sum = (field) => kinds.reduce((total, kind) => total + kind.perSecond * kind[field], 0);
  const isQueueOnly = kinds.every(
    ({ option, perSecond }) => perSecond === 0 || option === 'tasks-per-second',
  );
  const bytes = Object.entries(ITEMS).reduce((total, [option, { bytes: of, hasPayload }]) => {
    const extra = hasPayload ? payloadBytes - MEASURED_BYTES : 0;
    return total + (items[option] ?? 0) * (measured(...of) + extra);
  }, 0);
  for (let masters = 1; masters <= MOST_MASTERS; masters += 1) {
    const { times, isMeasured } = costOfMasters(masters);
    const { shards, share } = rates['tasks-per-second']
      ? bestShards(queues, masters)
      : { shards: 1, share: 1 / masters };
    const cores = (sum('redisMicros') * times) / 1e6;
    const busiest = cores * (isQueueOnly && masters > 1 ? share : Math.max(share, 1 / masters));
    const bytesOfMaster = (bytes * share * masters) / masters;
    if (busiest > coreShare || bytesOfMaster > memoryGb * 1e9) continue;
    const slots = ((rates['tasks-per-second'] ?? 0) * handlerMs) / 1_000;
    const nodeCores = sum('nodeMicros') / 1e6;
    return {
      masters,
      shards,
      share,
      cores,
      busiest,
      times,
      isMeasured,
      bytes,
      bytesOfMaster,
      slots,
      nodeCores,
      processes: Math.max(1, Math.ceil(nodeCores / nodeShare), Math.ceil(slots / concurrency)),
      commandsPerSecond: sum('commands') * times,
      kinds: kinds.filter(({ perSecond }) => perSecond > 0),
    };
  }
  return undefined;
}

/** Predictions for the queue of `queues.shards` with 12 shards, and the measured figures, which may be undefined. */
export function compare() {
  return [1, 2, 3].map((masters) => {
    const counts = shardsOnMasters(['bench'], 12, masters);
    const name = `${masters} ${masters === 1 ? 'master' : 'masters'}, 12 shards`;
    return {
      masters,
      shares: Math.round((100 * Math.max(...counts)) / 12),
      measuredShare: figure('queues.shards', name, 'CPU of the busiest master, %'),
      times: masters === 1 ? 1 : BAR,
      measuredTimes: figure('queues.shards', name, 'Redis CPU µs ÷ 1 master, 1 shard'),
    };
  });
}

/** As Redis computes it: CRC16, XMODEM. */
function slotOf(tag) {
  let crc = 0;
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1)
      crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  }
  return crc % SLOTS;
}
