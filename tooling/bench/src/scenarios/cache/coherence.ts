import { startProxy } from '@mortise/redis-server';
import type { TcpProxy } from '@mortise/redis-server';
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '../../percentile.js';
import { startRemote } from '../../remote.js';
import type { Remote } from '../../remote.js';
import type { Competitor, Outcome, Scenario } from '../../scenario.js';
import type { CoherenceActions, Watched, Written } from './coherence.process.js';
import type { CacheKind, Life } from './kind.js';
import { BENTOCACHE, CACHE_MANAGER, CACHEABLE, MORTISE_NEAR } from './kinds/index.js';
import { now } from './now.js';

const MODULE = new URL('coherence.process.js', import.meta.url);
const ROUNDS = 300;
const WARM_UP_ROUNDS = 5;
const CUTS = 3;
/** For how long Redis is away. */
const AWAY_MS = 500;
const SILENT_MS = 4_000;
const EXPIRIES = 4;
const EXPIRING: Life = { ttlMs: 1_000, staleMs: 0, isExact: true };
/** How old the value is that the reader takes into its process. */
const READ_AT_MS = 800;
const LASTING: Life = { ttlMs: 60_000, staleMs: 0 };
/** A value that is stale for this time counts as stale until its end. */
const CAP_MS = 2_000;
/** So many of those say enough. */
const MOST_CAPPED = 3;
const P50 = 'stale p50 ms';
const P99 = 'stale p99 ms';
const CUT = 'cut: stale ms';
const AGAIN = 'cut: new value after ms';
const SILENT = 'silent cut: stale ms';
const OUTLIVES = 'outlives its end by ms';

interface Pair {
  readonly writer: Remote<CoherenceActions>;
  /** Behind the proxy. */
  readonly reader: Remote<CoherenceActions>;
}

interface Change {
  readonly written: Written;
  readonly watched: Watched;
}

async function startPair(url: string, proxy: TcpProxy, kind: CacheKind, life: Life): Promise<Pair> {
  const [writer, reader] = [startRemote<CoherenceActions>(MODULE), startRemote<CoherenceActions>(MODULE)];
  await writer.do('open', { url, kind: kind.name, life });
  await reader.do('open', { url: proxy.url, kind: kind.name, life });
  return { writer, reader };
}

/** A value that the reader has in its process is changed by the writer. */
async function change(
  { writer, reader }: Pair,
  key: string,
  forMs: number,
  before: () => void = () => undefined,
): Promise<Change> {
  await writer.do('write', { key, value: 0 });
  await reader.do('fill', { key, value: 0 });
  await reader.do('begin', { key, old: 0, wanted: 1, until: now() + forMs });
  before();
  const { result: written } = await writer.do('write', { key, value: 1 });
  const { result: watched } = await reader.do('ended', undefined);
  return { written, watched };
}

/** For how long the old value was read after the change was done. */
function staleMs({ written, watched }: Change): number {
  return watched.otherAt === undefined ? Infinity : Math.max(0, watched.lastOldAt - written.doneAt);
}

async function inHealth(pair: Pair, what: string, rounds: number): Promise<Record<string, number>> {
  const stale: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    stale.push(staleMs(await change(pair, `${what}:${round}`, CAP_MS)));
    if (stale.filter((ms) => ms === Infinity).length === MOST_CAPPED) break;
  }
  return { [P50]: percentile(stale, 0.5), [P99]: percentile(stale, 0.99) };
}

/** The connections break, the writer writes, and after a while the reader can connect again. */
async function whenCut(pair: Pair, proxy: TcpProxy): Promise<Record<string, number>> {
  const stale: number[] = [];
  const again: number[] = [];
  for (let round = 0; round < CUTS; round += 1) {
    let back = Promise.resolve(0);
    const changed = await change(pair, `cut:${round}`, AWAY_MS + CAP_MS, () => {
      proxy.refuse();
      back = sleep(AWAY_MS).then(async () => {
        await proxy.restore();
        return now();
      });
    });
    const backAt = await back;
    stale.push(staleMs(changed));
    again.push((changed.watched.otherAt ?? Infinity) - backAt);
  }
  return { [CUT]: Math.max(...stale), [AGAIN]: Math.max(...again) };
}

/** Nothing passes any more, and nothing says so. */
async function whenSilent(pair: Pair, proxy: TcpProxy): Promise<Record<string, number>> {
  let back = Promise.resolve();
  const changed = await change(pair, 'silent', SILENT_MS + CAP_MS, () => {
    proxy.halfOpen();
    back = sleep(SILENT_MS).then(() => proxy.restore());
  });
  await back;
  return { [SILENT]: staleMs(changed) };
}

/** How much longer a value is read than it was written for. */
async function whenExpiring({ writer, reader }: Pair): Promise<Record<string, number>> {
  const over: number[] = [];
  for (let round = 0; round < EXPIRIES; round += 1) {
    const key = `ending:${round}`;
    const { result: written } = await writer.do('write', { key, value: 0 });
    const endsAt = written.doneAt + EXPIRING.ttlMs;
    await sleep(READ_AT_MS);
    await reader.do('fill', { key, value: 0 });
    await reader.do('begin', { key, old: 0, until: endsAt + CAP_MS });
    const { result: watched } = await reader.do('ended', undefined);
    over.push(watched.otherAt === undefined ? Infinity : watched.lastOldAt - endsAt);
  }
  return { [OUTLIVES]: Math.max(...over) };
}

function competitor(kind: CacheKind): Competitor {
  return {
    name: kind.name,
    version: kind.version,
    prepare: async (_redis, { url }) => {
      const proxy = await startProxy({ port: Number(new URL(url).port) });
      const lasting = await startPair(url, proxy, kind, LASTING);
      const expiring = await startPair(url, proxy, kind, EXPIRING);
      return {
        warmUp: () => inHealth(lasting, 'warm-up', WARM_UP_ROUNDS),
        run: async (): Promise<Outcome> => ({
          operations: ROUNDS,
          figures: {
            ...(await inHealth(lasting, 'health', ROUNDS)),
            ...(await whenExpiring(expiring)),
            ...(await whenCut(lasting, proxy)),
            ...(await whenSilent(lasting, proxy)),
          },
        }),
        close: async () => {
          const all = [lasting.writer, lasting.reader, expiring.writer, expiring.reader];
          await Promise.all(all.map((remote) => remote.kill()));
          await proxy.stop();
        },
      };
    },
  };
}

export const coherence: readonly Scenario[] = [
  {
    name: 'cache.coherence',
    title: 'Cache: copies in the process, and how stale they get',
    operation: 'one change',
    method:
      `One process writes, another one has the value in its memory and reads without a pause. Stale is how long it still reads the old value after the write has resolved: of ${ROUNDS} changes in health; at most, of ${CUTS} ` +
      `changes while its connections are cut and refused for ${AWAY_MS} ms, where the new value comes that long after they are accepted again; and of one while they are dead without a sign. ∞: not within ${CAP_MS / 1000} s. A value outlives its end where a process that has taken it ` +
      `at ${READ_AT_MS} ms of its ${EXPIRING.ttlMs} ms reads it later than that after its write. async-cache-dedupe has no copies of what is in Redis.`,
    competitors: [MORTISE_NEAR, BENTOCACHE, CACHEABLE, CACHE_MANAGER].map(competitor),
    columns: [P50, P99, CUT, AGAIN, SILENT, OUTLIVES],
    drawn: P99,
    bars: [
      { competitor: MORTISE_NEAR.name, figure: P99, atMost: 5 },
      { competitor: MORTISE_NEAR.name, figure: CUT, atMost: 200, inEachRepeat: true },
      { competitor: MORTISE_NEAR.name, figure: OUTLIVES, atMost: 0, inEachRepeat: true },
    ],
  },
];
