import { startRemote } from '../../remote.js';
import type { Done, Remote } from '../../remote.js';
import type { Competitor, Outcome, Scenario, Work } from '../../scenario.js';
import { WAIT_STEPS } from './herd.process.js';
import type { HerdActions, HerdReport, Joining, Reading } from './herd.process.js';
import type { CacheKind } from './kind.js';
import {
  ASYNC_CACHE_DEDUPE,
  BARE,
  BENTOCACHE,
  CACHE_MANAGER,
  CACHEABLE,
  MORTISE,
  MORTISE_NEAR,
} from './kinds/index.js';
import { now } from './now.js';

const MODULE = new URL('herd.process.js', import.meta.url);
const PROCESSES = 4;
const READERS = 125;
const LOAD_MS = 100;
const COLD_KEYS = 8;
const WARM_UP_KEYS = 2;
const HOT_SECONDS = 6;
const HOT_TTL_MS = 1_000;
const SLOW_MS = 50;
/** From the order until the begin, so that every process has received it. */
const AHEAD_MS = 50;
const LOADS = 'loads of a key';
const P99 = 'p99 ms';
const P99_BY_LOADER = 'p99 ÷ loader';
const SLOW = 'slow reads, %';
const READS = 'reads/s';
const OLDEST = 'oldest value ms';

const ALL: readonly CacheKind[] = [
  MORTISE,
  MORTISE_NEAR,
  BENTOCACHE,
  CACHEABLE,
  CACHE_MANAGER,
  ASYNC_CACHE_DEDUPE,
  BARE,
];

/** The records of all processes. */
class Herd {
  readonly loads: number[] = [];
  readonly #waits: number[] = [];
  oldestMs = 0;
  readonly spent = { seconds: 0, sentCommands: 0, cpuMicros: 0 };

  add(all: readonly Done<HerdReport>[]): void {
    for (const { result, spent } of all) {
      this.loads.push(...result.loads);
      for (const [tenths, count] of result.waits.entries()) {
        if (count > 0) this.#waits[tenths] = (this.#waits[tenths] ?? 0) + count;
      }
      this.oldestMs = Math.max(this.oldestMs, result.oldestMs);
      this.spent.sentCommands += spent.sentCommands;
      this.spent.cpuMicros += spent.cpuMicros;
    }
    this.spent.seconds += Math.max(...all.map(({ spent }) => spent.seconds));
  }

  get reads(): number {
    return this.#waits.reduce((sum, count) => sum + count, 0);
  }

  get meanLoadMs(): number {
    return this.loads.reduce((sum, ms) => sum + ms, 0) / this.loads.length;
  }

  /** The wait in ms that a share of the reads doesn't exceed. */
  percentile(share: number): number {
    let left = Math.ceil(this.reads * share);
    for (const [tenths, count = 0] of this.#waits.entries()) {
      left -= count;
      if (left <= 0) return tenths / WAIT_STEPS;
    }
    return Number.NaN;
  }

  get slow(): number {
    return this.#waits.slice(SLOW_MS * WAIT_STEPS + 1).reduce((sum, count) => sum + (count ?? 0), 0);
  }
}

type CallMember = <Name extends 'readOnce' | 'readOn'>(
  action: Name,
  input: Omit<Parameters<HerdActions[Name]>[0], keyof Reading> & { readonly key: string },
) => Promise<Done<HerdReport>[]>;

/** Processes that use a cache together. */
async function gather(
  url: string,
  kind: CacheKind,
  life: Joining['life'],
  work: (ask: CallMember) => Pick<Work, 'warmUp' | 'run'>,
): Promise<Work> {
  const remotes = Array.from({ length: PROCESSES }, () => startRemote<HerdActions>(MODULE));
  const close = async (): Promise<void> => {
    await Promise.all(remotes.map((remote) => remote.kill()));
  };
  const ask: CallMember = (action, input) => {
    const reading = { ...input, readers: READERS, at: now() + AHEAD_MS };
    return Promise.all(remotes.map((remote: Remote<HerdActions>) => remote.do(action, reading as never)));
  };
  try {
    const joining = { url, kind: kind.name, life, loadMs: LOAD_MS };
    await Promise.all(remotes.map((remote) => remote.do('join', joining)));
  } catch (error) {
    await close();
    throw error;
  }
  return { ...work(ask), close };
}

function stampede(kind: CacheKind): Competitor {
  return {
    name: kind.name,
    version: kind.version,
    prepare: (_redis, { url }) =>
      gather(url, kind, { ttlMs: 60_000, staleMs: 0 }, (ask) => {
        const read = async (what: string, keys: number): Promise<Outcome> => {
          const herd = new Herd();
          for (let key = 0; key < keys; key += 1) herd.add(await ask('readOnce', { key: `${what}:${key}` }));
          return {
            operations: herd.reads,
            elsewhere: herd.spent,
            figures: {
              [LOADS]: herd.loads.length / keys,
              'p50 ms': herd.percentile(0.5),
              [P99]: herd.percentile(0.99),
              'max ms': herd.percentile(1),
              [P99_BY_LOADER]: herd.percentile(0.99) / herd.meanLoadMs,
            },
          };
        };
        return { warmUp: () => read('warm-up', WARM_UP_KEYS), run: () => read('cold', COLD_KEYS) };
      }),
  };
}

function hot(kind: CacheKind): Competitor {
  return {
    name: kind.name,
    version: kind.version,
    prepare: (_redis, { url, seconds = HOT_SECONDS }) =>
      gather(url, kind, { ttlMs: HOT_TTL_MS, staleMs: HOT_TTL_MS }, (ask) => {
        const read = async (key: string, forSeconds: number): Promise<Outcome> => {
          const herd = new Herd();
          herd.add(await ask('readOn', { key, seconds: forSeconds }));
          return {
            operations: herd.reads,
            elsewhere: herd.spent,
            figures: {
              [LOADS]: herd.loads.length,
              [READS]: herd.reads / forSeconds,
              [SLOW]: (100 * herd.slow) / herd.reads,
              'p50 ms': herd.percentile(0.5),
              [P99]: herd.percentile(0.99),
              [OLDEST]: herd.oldestMs,
            },
          };
        };
        return { warmUp: () => read('warm-up', 1), run: () => read('hot', seconds) };
      }),
  };
}

const WHO = `${PROCESSES} processes with ${READERS} readers each; a load takes ${LOAD_MS} ms.`;

export const herd: readonly Scenario[] = [
  {
    name: 'cache.stampede',
    title: 'Cache: 500 readers of a cold key',
    operation: 'one read',
    method: `${WHO} All ask for the same key at the same instant; ${COLD_KEYS} keys, one after the other. The loader is what its loads took on average.`,
    competitors: ALL.map(stampede),
    columns: [LOADS, 'p50 ms', P99, 'max ms', P99_BY_LOADER, 'commands run', 'Redis CPU µs'],
    drawn: P99,
    bars: [MORTISE, MORTISE_NEAR].flatMap(({ name }) => [
      { competitor: name, figure: LOADS, atMost: 1, inEachRepeat: true },
      { competitor: name, figure: P99_BY_LOADER, atMost: 1.2 },
    ]),
  },
  {
    name: 'cache.hot',
    title: `Cache: 500 readers of a hot key for ${HOT_SECONDS} s`,
    operation: 'one read',
    method:
      `${WHO} The key is cold at first and lives for ${HOT_TTL_MS} ms, and as long again as a stale value where the library knows such a thing; each reader asks again at once. Slow is what takes more than ` +
      `${SLOW_MS} ms, the first reads included. The age of a value counts from when its load began.`,
    competitors: ALL.map(hot),
    columns: [LOADS, SLOW, READS, 'p50 ms', P99, OLDEST, 'Redis CPU µs', 'Node CPU µs'],
    drawn: SLOW,
    bars: [MORTISE, MORTISE_NEAR].flatMap(({ name }) => [
      { competitor: name, figure: LOADS, atMost: HOT_SECONDS, inEachRepeat: true },
      { competitor: name, figure: SLOW, atMost: 0.5 },
    ]),
  },
];
