import type { Redis } from 'ioredis';
import type { Competitor, Scenario } from '../../scenario.js';
import { usedBytes } from '../../used-bytes.js';
import type { FileKind } from './kind.js';
import { WINDOW_BYTES } from './kind.js';
import { BOOK_SLEEPING, MORTISE } from './kinds/index.js';
import { logDirectory, MIB } from './log-directory.js';
import { MemoryPeak } from './memory-peak.js';
import { Transport } from './transport.js';

const MEGABYTES = [50, 500, 2_048];
/** A value of Redis, which is what a file of the book is, ends at 512 MB. */
const BOOK_MEGABYTES = [50, 500];
const WARM_UP_MEGABYTES = 20;
/** Longer than it takes to fill the window. */
const STANDSTILL_MS = 2_000;
const MOST_MEGABYTES = (WINDOW_BYTES / MIB) * 1.15;
const NAMES = {
  one: `${MORTISE.name}, 1 receiver`,
  three: `${MORTISE.name}, 3 receivers`,
  book: 'Redis in Action, 6.6, 1 receiver',
};

function figureOf(megabytes: number): string {
  return `peak Redis MB, of ${megabytes.toLocaleString('en').replace(',', ' ')} MB`;
}

async function peakOf(redis: Redis, transport: Transport, megabytes: number): Promise<number> {
  await redis.flushall('SYNC');
  let base = 0;
  let peak: MemoryPeak | undefined;
  await transport.move(await logDirectory(megabytes), 'SHA-256', {
    standstillMs: STANDSTILL_MS,
    begin: async () => {
      base = await usedBytes(redis);
      peak = new MemoryPeak(redis);
    },
  });
  return (await peak!.stop()) - base;
}

function competitor(name: string, kind: FileKind, receivers: number, sizes: readonly number[]): Competitor {
  return {
    name,
    version: '',
    prepare: (redis, { url }) => {
      const transport = new Transport(url, kind, receivers);
      return Promise.resolve({
        warmUp: async () => transport.move(await logDirectory(WARM_UP_MEGABYTES), 'SHA-256'),
        run: async () => {
          const figures: Record<string, number> = {};
          for (const megabytes of sizes) {
            figures[figureOf(megabytes)] = (await peakOf(redis, transport, megabytes)) / MIB;
          }
          return { operations: 1, figures };
        },
        close: () => transport.close(),
      });
    },
  };
}

export const memory: readonly Scenario[] = [
  {
    name: 'files.memory',
    title: 'Files: memory of Redis',
    operation: 'all of them',
    method:
      `Logs of ${MEGABYTES.join(', ')} MB (2^20 bytes) are moved, one after the other. The figure is used_memory, all of it, at its highest meanwhile (it is looked at about each ms), less what it was when all were connected. ` +
      `Ours has a window of ${WINDOW_BYTES / MIB} MB, and may take 15 % more. So that the window is full once for sure, one receiver stands still for ${STANDSTILL_MS / 1_000} s at its first block. ` +
      'Each receiver hashes what it gets, and the SHA-256 has to be that of the log.',
    competitors: [
      competitor(NAMES.one, MORTISE, 1, MEGABYTES),
      competitor(NAMES.three, MORTISE, 3, MEGABYTES),
      competitor(NAMES.book, BOOK_SLEEPING, 1, BOOK_MEGABYTES),
    ],
    columns: MEGABYTES.map(figureOf),
    drawn: figureOf(500),
    mostRepeats: 1,
    bars: [NAMES.one, NAMES.three].flatMap((name) =>
      MEGABYTES.map((megabytes) => ({
        competitor: name,
        figure: figureOf(megabytes),
        atMost: MOST_MEGABYTES,
      })),
    ),
  },
];
