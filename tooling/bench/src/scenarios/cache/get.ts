import { crewWork } from '../../crew.js';
import type { Bar, Competitor, Scenario } from '../../scenario.js';
import type { GetReport, GetSettings } from './get.process.js';
import type { CacheKind } from './kind.js';
import {
  ASYNC_CACHE_DEDUPE,
  ASYNC_CACHE_DEDUPE_MEMORY,
  BARE,
  BARE_PIPELINED,
  BARE_UNPARSED,
  BENTOCACHE,
  BENTOCACHE_SHARED,
  CACHE_MANAGER,
  CACHE_MANAGER_SHARED,
  CACHEABLE,
  CACHEABLE_SHARED,
  MORTISE,
  MORTISE_BY_LOAD,
  MORTISE_NEAR,
  MORTISE_NEAR_BY_LOAD,
} from './kinds/index.js';

const KEYS = 10_000;
const SECONDS = 2;
const WARM_UP_SECONDS = 0.5;
const RATE = 'operations/s';

type Reading = Pick<GetSettings, 'readers' | 'how'>;

function competitor(kind: CacheKind, reading: Reading, name = kind.name): Competitor {
  return {
    name,
    version: kind.version,
    prepare: (_redis, { url, seconds = SECONDS, scale }) =>
      crewWork<GetReport>({
        module: new URL('get.process.js', import.meta.url),
        settings: [{ url, kind: kind.name, keys: Math.ceil(KEYS * scale), ...reading } satisfies GetSettings],
        warmUpSeconds: WARM_UP_SECONDS,
        seconds,
        outcome: ([report]) => ({
          operations: report!.reads,
          figures: { 'p50 µs': report!.p50Micros, 'p99 µs': report!.p99Micros },
        }),
      }),
  };
}

const SHARED: readonly CacheKind[] = [
  MORTISE,
  MORTISE_BY_LOAD,
  BENTOCACHE_SHARED,
  CACHEABLE_SHARED,
  CACHE_MANAGER_SHARED,
  ASYNC_CACHE_DEDUPE,
  BARE,
  BARE_PIPELINED,
  BARE_UNPARSED,
];

/** @param atLeast The bar, as a share of what each peer reaches. */
function shared(readers: number, atLeast: number, peers: readonly CacheKind[]): Scenario {
  return {
    name: `cache.get-${String(readers).padStart(3, '0')}`,
    title: `Cache: reads from Redis, ${readers === 1 ? '1 reader' : `${readers} readers`}`,
    operation: 'one value of 227 bytes as JSON read',
    method: `${KEYS} keys, all in Redis and none kept in the process; one process and, but for BentoCache, one connection; each reader waits for one value before the next.`,
    competitors: SHARED.map((kind) => competitor(kind, { readers, how: 'shared' })),
    columns: [RATE, 'p50 µs', 'p99 µs', 'Node CPU µs', 'Redis CPU µs', 'commands run', 'socket reads'],
    bars: peers.map(({ name }): Bar => ({ competitor: MORTISE.name, figure: RATE, atLeast, times: name })),
  };
}

const PEEK = `${MORTISE_NEAR.name}, peek`;

export const get: readonly Scenario[] = [
  shared(1, 0.97, [BARE]),
  shared(100, 1, [BARE, BARE_PIPELINED]),
  {
    name: 'cache.near',
    title: 'Cache: reads from the process',
    operation: 'one value read',
    method: `${KEYS} keys, all in the process. One reader awaits each value before it reads the next; peek returns its value at once.`,
    competitors: [
      competitor(MORTISE_NEAR, { readers: 1, how: 'peek' }, PEEK),
      ...[
        MORTISE_NEAR,
        MORTISE_NEAR_BY_LOAD,
        BENTOCACHE,
        CACHEABLE,
        CACHE_MANAGER,
        ASYNC_CACHE_DEDUPE_MEMORY,
      ].map((kind) => competitor(kind, { readers: 1, how: 'near' })),
    ],
    columns: [RATE, 'Node CPU µs', 'commands run'],
    bars: [PEEK, MORTISE_NEAR.name].map((name) => ({ competitor: name, figure: RATE, atLeast: 3_000_000 })),
  },
];
