/**
 * Whether the API keeps its memory under a load of ten minutes: the last minute is compared with the second one. The memory of the
 * process (RSS) alone cannot tell, because V8 lets a heap grow for minutes before it collects more garbage. The least heap of a
 * minute shows what the process keeps. The queue is drained each second, because tasks that wait are not memory of the API.
 */
import { setTimeout as pause } from 'node:timers/promises';

import type { Redis } from 'ioredis';

import { percentile } from '../../percentile.js';
import type { Scenario } from '../../scenario.js';
import type { Kind } from './kinds.js';
import { accepted, KINDS } from './kinds.js';
import type { ApiServer } from './server.js';
import { load, startApi } from './server.js';

const SECONDS = 600;
const WARM_UP_SECONDS = 2;
/** The end of the second minute of ten. */
const EARLY = 1 / 5;
const MIDDLE = 1 / 2;
const MINUTE = 1 / 10;
/** The names of locks, so that Redis need not keep ever more of them. */
const NAMES = 1_000;
/** The most that the memory may grow after the second minute, as a factor. */
const MOST_GROWTH = 1.1;

/** Ten minutes on a shared machine have moments that are longer than the API waits by default. */
const PATIENT = { REDIS_COMMAND_TIMEOUT_MS: '15000', REQUEST_DEADLINE_MS: '15000' };

interface Setting {
  readonly name: string;
  readonly env: Record<string, string>;
}

interface Sample {
  readonly at: number;
  readonly apiMib: number;
  readonly heapMib: number;
  readonly redisMib: number;
}

const requestsOf = ({ name }: Kind): number => (name === 'lock' ? 2 : 1);

/** All kinds of work in turn, under the setting. @param key Its API key. */
export function soak({ name, env }: Setting, key: string): Scenario {
  return {
    name: 'api.soak',
    title: 'API: ten minutes of tasks, locks and completions',
    operation: 'one request; a lock is acquired and released by two',
    method:
      'The built API as a process, one Redis, and a client with 50 connections, all on the same cores: a task, a lock, a completion, and ' +
      'again. RSS and the memory of Redis are medians of a minute; the least heap of a minute is what no collection of garbage frees.',
    competitors: [
      {
        name,
        version: 'this repository',
        prepare: async (redis, { url, seconds = SECONDS }) => {
          const api = await startApi(
            { REDIS_URL: url, ...env, ...PATIENT },
            { authorization: `Bearer ${key}` },
          );
          for (const { before, act } of KINDS) {
            await before?.(api);
            await act(api, 0);
          }
          return {
            warmUp: () => measureMix(api, redis, WARM_UP_SECONDS),
            run: () => measureMix(api, redis, seconds),
            close: () => api.stop(),
          };
        },
      },
    ],
    columns: [
      'operations/s',
      ...KINDS.flatMap((kind) => [`${kind.name} p50 ms`, `${kind.name} p99 ms`]),
      'API CPU µs',
      'Redis CPU µs',
      'RSS MiB, minute 2',
      'RSS MiB, minute 5',
      'RSS MiB, minute 10',
      'RSS MiB at most',
      'least heap MiB, minute 2',
      'least heap MiB, minute 10',
      'Redis MiB, minute 2',
      'Redis MiB, minute 10',
    ],
    bars: [
      { competitor: name, figure: 'least heap, minute 10 ÷ 2', atMost: MOST_GROWTH },
      { competitor: name, figure: 'RSS, minute 10 ÷ 2', atMost: MOST_GROWTH },
    ],
    mostRepeats: 1,
  };
}

async function measureMix(
  api: ApiServer,
  redis: Redis,
  seconds: number,
): Promise<{ operations: number; figures: Record<string, number> }> {
  const took = new Map<Kind, number[]>(KINDS.map((kind) => [kind, []]));
  const samples: Sample[] = [];
  const cpuBefore = api.cpuMicros();
  const startedAt = performance.now();
  const end = new AbortController();
  const working = load(seconds, async (nth) => {
    const kind = KINDS[nth % KINDS.length]!;
    const begunAt = performance.now();
    await kind.act(api, nth % NAMES);
    took.get(kind)!.push(performance.now() - begunAt);
  });
  await Promise.all([working.finally(() => end.abort()), watch()]);
  let operations = 0;
  for (const [kind, times] of took) operations += times.length * requestsOf(kind);
  return {
    operations,
    figures: {
      ...Object.fromEntries(
        Array.from(took).flatMap(([kind, times]) => [
          [`${kind.name} p50 ms`, percentile(times, 0.5)],
          [`${kind.name} p99 ms`, percentile(times, 0.99)],
        ]),
      ),
      'API CPU µs': (api.cpuMicros() - cpuBefore) / operations,
      ...memory(samples, seconds),
    },
  };

  async function watch(): Promise<void> {
    while (!end.signal.aborted) {
      await pause(Math.min(1_000, seconds * 10));
      const at = (performance.now() - startedAt) / 1_000;
      const used = /used_memory:(\d+)/.exec(await redis.info('memory'))!;
      samples.push({
        at,
        apiMib: api.residentMib(),
        heapMib: await api.heapMib(),
        redisMib: Number(used[1]) / 1_048_576,
      });
      await accepted(api.send({ method: 'POST', path: '/v1/queues/bench/drain', body: { isAll: true } }));
    }
  }
}

function memory(samples: readonly Sample[], seconds: number): Record<string, number> {
  const minuteUntil = (part: number): readonly Sample[] =>
    samples.filter(({ at }) => at > (part - MINUTE) * seconds && at <= part * seconds);
  const [early, late] = [minuteUntil(EARLY), minuteUntil(1)];
  const median = (some: readonly Sample[], figure: 'apiMib' | 'redisMib'): number =>
    percentile(
      some.map((sample) => sample[figure]),
      0.5,
    );
  const least = (some: readonly Sample[]): number => Math.min(...some.map(({ heapMib }) => heapMib));
  return {
    'RSS MiB, minute 2': median(early, 'apiMib'),
    'RSS MiB, minute 5': median(minuteUntil(MIDDLE), 'apiMib'),
    'RSS MiB, minute 10': median(late, 'apiMib'),
    'RSS, minute 10 ÷ 2': median(late, 'apiMib') / median(early, 'apiMib'),
    'RSS MiB at most': Math.max(...samples.map(({ apiMib }) => apiMib)),
    'least heap MiB, minute 2': least(early),
    'least heap MiB, minute 10': least(late),
    'least heap, minute 10 ÷ 2': least(late) / least(early),
    'Redis MiB, minute 2': median(early, 'redisMib'),
    'Redis MiB, minute 10': median(late, 'redisMib'),
    'Redis memory, minute 10 ÷ 2': median(late, 'redisMib') / median(early, 'redisMib'),
  };
}
