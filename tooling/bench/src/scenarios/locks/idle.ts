import { crewWork } from '../../crew.js';
import type { Competitor, Scenario } from '../../scenario.js';
import type { IdleSettings } from './idle.process.js';
import { MINE, mutexKind, PEERS } from './mutexes.js';
import type { MutexKind } from './mutexes.js';

const SECONDS = 3;
/** The waiters begin together, so their first looks are over. */
const WARM_UP_SECONDS = 3;
/** Without those of the holder. */
const PER_PROCESS = 'commands/s of a process';

interface Scene {
  readonly waiters: number;
  readonly processes: number;
  /** The waiters are spread over so many locks. */
  readonly locks: number;
}

function competitor({ name, version }: MutexKind, { waiters, processes, locks }: Scene): Competitor {
  const names = Array.from({ length: locks }, (_, index) => `held-${index}`);
  const perProcess = waiters / processes;
  return {
    name,
    version,
    prepare: async (redis, { url, seconds = SECONDS }) => {
      const holders = await Promise.all(
        names.map(async (lock) => (await mutexKind(name).prepare(redis, lock))()),
      );
      const work = await crewWork<object>({
        module: new URL('idle.process.js', import.meta.url),
        settings: Array.from({ length: processes }, (): IdleSettings => ({
          url,
          kind: name,
          locks: Array.from({ length: perProcess }, (_, waiter) => names[waiter % locks]!),
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
          await Promise.all(holders.map((release) => release()));
        },
      };
    },
  };
}

function scenario(name: string, scene: Scene, atMost: number): Scenario {
  const { waiters, processes, locks } = scene;
  const count = new Intl.NumberFormat('en').format(waiters);
  const where = processes === 1 ? '1 process' : `${processes} processes`;
  const whatFor = locks === 1 ? '' : ', each for a lock of its own,';
  return {
    name: `locks.${name}`,
    title: `Locks: ${count} idle waiters${whatFor} in ${where}`,
    operation: 'one second of one process whose waiters wait for locks that are held throughout',
    method: `${count} waiters for ${locks === 1 ? 'one lock' : `${count} locks`} in ${where}, over one connection per process.`,
    competitors: [MINE, ...PEERS].map((kind) => competitor(kind, scene)),
    columns: ['commands/s of all', PER_PROCESS, 'Redis CPU µs', 'Node CPU µs'],
    drawn: 'commands/s of all',
    bars: [{ competitor: MINE.name, figure: PER_PROCESS, atMost }],
  };
}

export const idle: readonly Scenario[] = [
  scenario('idle-1', { waiters: 100, processes: 1, locks: 1 }, 1),
  scenario('idle-4', { waiters: 100, processes: 4, locks: 1 }, 1),
  scenario('idle-many', { waiters: 1_000, processes: 1, locks: 1_000 }, 20),
];
