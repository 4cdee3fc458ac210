import type { Bar, Competitor, Scenario } from '../../scenario.js';
import { usedBytes } from '../../used-bytes.js';
import type { FileKind } from './kind.js';
import { WINDOW_BYTES } from './kind.js';
import { ALL, BOOK, MORTISE } from './kinds/index.js';
import { logDirectory, MIB } from './log-directory.js';
import { peakBytes } from './memory-peak.js';
import { wholeCpuMs } from './redis-cpu.js';
import type { Reading } from './transfer.process.js';
import { Transport } from './transport.js';

const MEGABYTES = 200;
const WARM_UP_MEGABYTES = 20;
const SPEED = 'MB/s';
const REDIS_CPU = 'Redis CPU ms';
const PEAK = 'peak Redis MB';
const FREE = 's until all is freed';
const SENDER_CPU = 'sender CPU ms';
const RECEIVER_CPU = 'receivers CPU ms';

function competitor(kind: FileKind, receivers: number, reading: Reading): Competitor {
  return {
    name: kind.name,
    version: kind.version,
    prepare: async (redis, { url }) => {
      const log = await logDirectory(MEGABYTES);
      const small = await logDirectory(WARM_UP_MEGABYTES);
      const transport = new Transport(url, kind, receivers);
      return {
        warmUp: async () => {
          await transport.move(small, reading);
          await redis.flushall('SYNC');
        },
        run: async () => {
          let cpuBefore = 0;
          let baseBytes = 0;
          const moved = await transport.move(log, reading, {
            begin: async () => {
              baseBytes = await usedBytes(redis);
              cpuBefore = await wholeCpuMs(redis);
            },
          });
          const { seconds, secondsUntilFree, sender, receivers: received } = moved;
          const megabytes = log.bytes / MIB;
          return {
            operations: megabytes,
            elsewhere: {
              seconds,
              sentCommands: sender.sentCommands + received.sentCommands,
              cpuMicros: sender.cpuMicros + received.cpuMicros,
            },
            figures: {
              [SPEED]: megabytes / seconds,
              [REDIS_CPU]: (await wholeCpuMs(redis)) - cpuBefore,
              [PEAK]: ((await peakBytes(redis)) - baseBytes) / MIB,
              [FREE]: secondsUntilFree,
              [SENDER_CPU]: sender.cpuMicros / 1_000,
              [RECEIVER_CPU]: received.cpuMicros / 1_000,
            },
          };
        },
        close: () => transport.close(),
      };
    },
  };
}

const WHAT: Record<Exclude<Reading, 'SHA-256'>, string> = {
  blocks: 'looks for the line feeds in the blocks that it gets, as one does who counts logs',
  lines: 'takes lines one by one, from the line reader of each',
};

function scenario(
  receivers: number,
  reading: Exclude<Reading, 'SHA-256'>,
  limits: { readonly speed: number; readonly cpu: number },
): Scenario {
  const bars: Bar[] = [
    { competitor: MORTISE.name, figure: SPEED, times: BOOK.name, atLeast: limits.speed },
    { competitor: MORTISE.name, figure: REDIS_CPU, times: BOOK.name, atMost: limits.cpu },
  ];
  const those = receivers === 1 ? 'one receiver' : `${receivers} receivers`;
  return {
    name: `files.${reading}-${receivers}`,
    title: `Files: ${MEGABYTES} MB to ${those}, by ${reading}`,
    operation: '1 MB of the log, at all receivers',
    method:
      `One process sends a log of ${MEGABYTES} MB (2^20 bytes) from disk, through the page cache, and ${those} in processes of their own ` +
      `wait for it; each ${WHAT[reading]}. Time counts until the last one is done; the CPU of all of Redis until nothing is left there. ` +
      `Ours has a window of ${WINDOW_BYTES / MIB} MB. The book's fetch of messages never sleeps, against its intention (see kinds/book.ts): so there is one that does.`,
    competitors: ALL.map((kind) => competitor(kind, receivers, reading)),
    columns: [SPEED, REDIS_CPU, PEAK, FREE, SENDER_CPU, RECEIVER_CPU, 'commands sent'],
    drawn: SPEED,
    bars,
  };
}

const OF_ONE = { speed: 2.5, cpu: 1 / 5 };
const OF_THREE = { speed: 1.6, cpu: 2 / 5 };

export const transfer: readonly Scenario[] = [
  scenario(1, 'blocks', OF_ONE),
  scenario(3, 'blocks', OF_THREE),
  scenario(1, 'lines', OF_ONE),
  scenario(3, 'lines', OF_THREE),
];
