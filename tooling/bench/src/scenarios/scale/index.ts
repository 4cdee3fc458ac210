import { AddressBook } from '@mortise/autocomplete';
import { Refresher, RowCache } from '@mortise/cache/rows';
import { Mutex } from '@mortise/locks';
import { Chats } from '@mortise/messaging';
import type { Cluster } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Scenario } from '../../scenario.js';
import { versionOf } from '../../version-of.js';
import type { ClusterWork } from './on-masters.js';
import { calls, COLUMNS, CPU, onMasters } from './on-masters.js';

const CALLS = 20_000;
const CALLERS = 50;
const MASTERS = [1, 2, 3];
/** More than there are callers. */
const ENTITIES = 600;
const MEMBERS = ['a', 'b', 'c'];
const BOOKS = 12;
const NAMES = 2_000;
const ROWS = 2_000;
const DAY_MS = 86_400_000;
const MOST_MORE = 1.15;

const range = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

function nameOf(n: number): string {
  return `${(n * 7_919).toString(36)}-${n}`;
}

function load(ids: readonly string[]): Promise<Map<string, object>> {
  return Promise.resolve(new Map(ids.map((id) => [id, { id, text: 'x'.repeat(100) }])));
}

function locks(redis: Cluster, callers: number): Promise<ClusterWork> {
  const all = range(ENTITIES).map((n) => new Mutex(redis, `lock ${n}`));
  return Promise.resolve({
    run: () =>
      calls(CALLS, callers, async (n) => {
        const lease = await all[n % ENTITIES]!.acquire();
        await lease.release();
      }),
  });
}

async function chats(redis: Cluster, callers: number): Promise<ClusterWork> {
  const all = new Chats<string>(redis);
  const [sender = '', ...members] = MEMBERS;
  for (const n of range(ENTITIES)) await all.create({ chatId: `chat ${n}`, sender, members, body: 'hello' });
  return {
    run: () => calls(CALLS, callers, (n) => all.post(`chat ${n % ENTITIES}`, sender, 'x'.repeat(100))),
  };
}

async function books(redis: Cluster, callers: number): Promise<ClusterWork> {
  const all = range(BOOKS).map((n) => new AddressBook(redis, `book ${n}`));
  for (const book of all) await calls(NAMES, callers, (n) => book.add({ key: nameOf(n) }));
  return {
    run: () => calls(CALLS, callers, (n) => all[n % BOOKS]!.complete(nameOf(n % NAMES).slice(0, 2))),
  };
}

async function rows(redis: Cluster, callers: number): Promise<ClusterWork> {
  const table = new RowCache<object>(redis, 'items', { load });
  const refresher = new Refresher(redis, [table]);
  await refresher.start();
  await calls(ROWS, callers, (n) => table.schedule(String(n), { everyMs: DAY_MS }));
  while ((await table.stats()).loaded < ROWS) await sleep(10);
  await refresher.stop();
  const read = async (n: number): Promise<void> => {
    if ((await table.get(String(n % ROWS))) === null) throw new Error(`row ${n % ROWS} is missing`);
  };
  return { run: () => calls(CALLS, callers, read) };
}

interface Kind {
  readonly name: string;
  readonly title: string;
  readonly operation: string;
  readonly library: string;
  readonly prepare: (redis: Cluster, callers: number) => Promise<ClusterWork>;
}

function scenario({ name, title, operation, library, prepare }: Kind): Scenario {
  const competitors = MASTERS.map((masters) =>
    onMasters(`${masters} ${masters === 1 ? 'master' : 'masters'}`, versionOf(library), masters, (redis) =>
      prepare(redis, CALLERS * masters),
    ),
  );
  const [one] = competitors;
  return {
    name: `scale.${name}`,
    title: `Scale-out: ${title}`,
    operation,
    method:
      `One process, with ${CALLERS} callers for each master. Costs are sums over all masters, which share the cores of this machine. ` +
      'So the rate says nothing of several machines.',
    competitors,
    columns: [...COLUMNS, `${CPU} ÷ ${one!.name}`],
    drawn: CPU,
    baseline: { competitor: one!.name, figure: CPU },
    bars: competitors
      .slice(1)
      .map((other) => ({ competitor: other.name, figure: CPU, atMost: MOST_MORE, times: one!.name })),
  };
}

export const scale: readonly Scenario[] = [
  {
    name: 'locks',
    title: `locks, ${ENTITIES} names`,
    operation: 'one free lock acquired and released',
    library: '@mortise/locks',
    prepare: locks,
  },
  {
    name: 'chats',
    title: `chats, ${ENTITIES} chats of ${MEMBERS.length} members`,
    operation: 'one message of 100 bytes posted',
    library: '@mortise/messaging',
    prepare: chats,
  },
  {
    name: 'books',
    title: `address books, ${BOOKS} books of ${NAMES} names`,
    operation: 'one prefix completed',
    library: '@mortise/autocomplete',
    prepare: books,
  },
  {
    name: 'rows',
    title: `rows, ${ROWS} rows in 16 shards`,
    operation: 'one row of 100 bytes read',
    library: '@mortise/cache',
    prepare: rows,
  },
].map(scenario);
