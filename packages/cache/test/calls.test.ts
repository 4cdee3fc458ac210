/** Every public call: on a closed client, and with wrong arguments. */
import { Cache } from '@mortise/cache';
import { LoadLeases } from '@mortise/cache/loads';
import { Refresher, RowCache } from '@mortise/cache/rows';
import type { CallTable } from '@mortise/test-kit';
import { describeCalls, freshPrefix } from '@mortise/test-kit';
import type { Redis } from 'ioredis';

/** They load, or have nothing, while Redis is unavailable. */
const READS = new Set(['cache.get', 'cache.getMany', 'cache.getOrLoad', 'cache.getOrLoadMany']);

function tableOf(redis: Redis): CallTable {
  const prefix = freshPrefix();
  const cache = new Cache(redis, 'pages', { prefix, onError: () => undefined });
  const loading = new Cache(redis, 'pages', {
    prefix,
    load: async () => new Map(),
    onError: () => undefined,
  });
  const rows = new RowCache(redis, 'items', { prefix, load: async () => new Map() });
  const leases = new LoadLeases(redis, 'pages', { prefix });
  return {
    'cache.getOrLoadMany': [loading.getOrLoadMany.bind(loading), ['a'], {}],
    'cache.get': [cache.get.bind(cache), 'a'],
    'cache.getMany': [cache.getMany.bind(cache), ['a']],
    'cache.getOrLoad': [cache.getOrLoad.bind(cache), 'a', () => 1, {}],
    'cache.set': [cache.set.bind(cache), 'a', 1, {}],
    'cache.delete': [cache.delete.bind(cache), 'a'],
    'cache.deleteMany': [cache.deleteMany.bind(cache), ['a']],
    'cache.expire': [cache.expire.bind(cache), 'a', 1_000],
    'cache.invalidateTag': [cache.invalidateTag.bind(cache), 't'],
    'leases.request': [leases.request.bind(leases), 'a', {}],
    'leases.store': [leases.store.bind(leases), 'a', '5', 1, {}],
    'leases.release': [leases.release.bind(leases), 'a', '5'],
    'rows.schedule': [rows.schedule.bind(rows), 'a', { everyMs: 60_000 }],
    'rows.scheduleAll': [rows.scheduleAll.bind(rows), ['a'], { everyMs: 60_000 }],
    'rows.unschedule': [rows.unschedule.bind(rows), 'a'],
    'rows.refresh': [rows.refresh.bind(rows), 'a'],
    'rows.get': [rows.get.bind(rows), 'a'],
    'rows.getMany': [rows.getMany.bind(rows), ['a']],
    'rows.inspect': [rows.inspect.bind(rows), 'a'],
    'rows.list': [rows.list.bind(rows), { limit: 10 }],
    'rows.stats': [rows.stats.bind(rows)],
  };
}

function constructors(redis: Redis): CallTable {
  const rows = new RowCache(redis, 'items', { load: async () => new Map() });
  return {
    Cache: [(...args: ConstructorParameters<typeof Cache>) => void new Cache(...args), redis, 'pages', {}],
    LoadLeases: [
      (...args: ConstructorParameters<typeof LoadLeases>) => void new LoadLeases(...args),
      redis,
      'pages',
      {},
    ],
    RowCache: [
      (...args: ConstructorParameters<typeof RowCache>) => void new RowCache(...args),
      redis,
      'items',
      { load: async () => new Map() },
    ],
    Refresher: [
      (...args: ConstructorParameters<typeof Refresher>) => void new Refresher(...args),
      redis,
      [rows],
      {},
    ],
  };
}

/** A telemetry may have no method; without a positive `everyMs` a row is removed. */
function takes(option: string, value: unknown): boolean {
  if (option.endsWith(' telemetry')) return typeof value === 'object' && !Array.isArray(value);
  return option.endsWith(' everyMs') && value === -1;
}

describeCalls({
  tableOf,
  constructors,
  classes: { cache: Cache, leases: LoadLeases, rows: RowCache },
  silent: ['cache.namespace', 'cache.peek', 'cache.stats', 'cache.stop', 'leases.stop'],
  fallBack: READS,
  takes,
  coalesced: 'cache.set',
});
