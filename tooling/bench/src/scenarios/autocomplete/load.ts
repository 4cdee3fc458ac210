import type { Redis } from 'ioredis';
import type { Competitor, Scenario } from '../../scenario.js';
import type { Named } from './data.js';
import { dataOf } from './data.js';
import type { BookKind } from './kind.js';
import { BYLEX, MORTISE } from './kinds/index.js';
import { BYTES } from './book-work.js';

const COUNT = 100_000;
const RATE = 'operations/s';

function inOrder(names: readonly Named[]): Named[] {
  return names.toSorted((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
}

async function usedBytes(redis: Redis): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))![1]);
}

type Order = (names: readonly Named[]) => readonly Named[];

function competitor(kind: BookKind, count: number, order: Order): Competitor {
  return {
    name: kind.name,
    version: kind.version,
    prepare: async (redis, { url, scale }) => {
      const names = order(dataOf('handles', Math.ceil(count * scale)));
      // A histogram of 24 KB for each command that comes for the first time.
      await redis.config('SET', 'latency-tracking', 'no');
      const client = kind.connect(url);
      const before = await usedBytes(redis);
      return {
        warmUp: () => Promise.resolve(),
        run: async () => {
          await client.load(names);
          const bytes = (await usedBytes(redis)) - before;
          return { operations: names.length, figures: { [BYTES]: bytes / names.length } };
        },
        close: () => Promise.resolve(),
      };
    },
  };
}

function scenario(name: string, title: string, order: Order, count = COUNT): Scenario {
  return {
    name: `autocomplete.load-${name}`,
    title: `Autocomplete: ${title}`,
    operation: 'one name loaded',
    method:
      'Handles of a to z, 11.8 bytes on average, whose scores follow the law of Zipf. Ours go through `addMany`, those of the sorted set in pipelines. ' +
      'The memory is that of the server after the load less that before.',
    competitors: [MORTISE, BYLEX].map((kind) => competitor(kind, count, order)),
    columns: [RATE, 'Redis CPU µs', 'Node CPU µs', 'commands sent', BYTES],
    bars: [
      { competitor: MORTISE.name, figure: RATE, atLeast: 100_000 },
      { competitor: MORTISE.name, figure: BYTES, atMost: 35 },
    ],
  };
}

const WHAT = `${COUNT / 1_000} 000 names are loaded`;

export const load: readonly Scenario[] = [
  scenario('in-order', `${WHAT}, in the order of names`, inOrder),
  scenario('reversed', `${WHAT}, in the reverse order`, (names) => inOrder(names).toReversed()),
  scenario('popular-first', `${WHAT}, the popular ones first`, (names) => names),
  {
    ...scenario(
      'ten-million',
      'ten million names are loaded, the popular ones first',
      (names) => names,
      10_000_000,
    ),
    mostRepeats: 1,
  },
];
