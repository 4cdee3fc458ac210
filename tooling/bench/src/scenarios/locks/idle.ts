import { crewWork } from '../../crew.js';
import type { Competitor, Scenario } from '../../scenario.js';
import type { IdleSettings } from './idle.process.js';
import { MINE, mutexKind, PEERS } from './mutexes.js';
import type { MutexKind } from './mutexes.js';

const WAITERS = 100;
const SECONDS = 3;
const WARM_UP_SECONDS = 0.5;
const LOCK = 'held';
/** Without those of the holder. */
const PER_PROCESS = 'commands/s of a process';

function competitor({ name, version }: MutexKind, processes: number): Competitor {
  return {
    name,
    version,
    prepare: async (redis, { url, seconds = SECONDS }) => {
      const acquire = await mutexKind(name).prepare(redis, LOCK);
      const release = await acquire();
      const work = await crewWork<object>({
        module: new URL('idle.process.js', import.meta.url),
        settings: Array.from({ length: processes }, (): IdleSettings => ({
          url,
          kind: name,
          lock: LOCK,
          waiters: WAITERS / processes,
        })),
        warmUpSeconds: WARM_UP_SECONDS,
        seconds,
        outcome: (_reports, { seconds: elapsed, sentCommands }) => ({
          operations: elapsed * processes,
          figures: {
            'commands/s of all': sentCommands / elapsed,
            [PER_PROCESS]: sentCommands / elapsed / processes,
          },
        }),
      });
      return {
        ...work,
        close: async () => {
          await work.close();
          await release();
        },
      };
    },
  };
}

function scenario(processes: number): Scenario {
  const where = processes === 1 ? '1 process' : `${processes} processes`;
  return {
    name: `locks.idle-${processes}`,
    title: `Locks: ${WAITERS} idle waiters in ${where}`,
    operation: 'one second of one process whose waiters wait for a lock that is held throughout',
    method: `${WAITERS} waiters for one lock in ${where}, over one connection per process.`,
    competitors: [MINE, ...PEERS].map((kind) => competitor(kind, processes)),
    columns: ['commands/s of all', PER_PROCESS, 'Redis CPU µs', 'Node CPU µs'],
    drawn: 'commands/s of all',
    bars: [{ competitor: MINE.name, figure: PER_PROCESS, atMost: 1 }],
  };
}

export const idle: readonly Scenario[] = [scenario(1), scenario(4)];
