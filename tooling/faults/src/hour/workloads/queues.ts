import { setTimeout as pause } from 'node:timers/promises';
import { unfinishedOf } from '../../queues/accountant.js';
import { endOfLoad, LOAD_WORKERS, planLoad } from '../../queues/load.js';
import { QueueRun } from '../../queues/queue-run.js';
import type { Place, Workload } from '../workload.js';
import { oneOf } from '../workload.js';

const WORKERS = 3;
const CHUNK = 4;
const PAUSE_MS = 100;
/** All tasks must have ended by this time after the last fault. */
const REST_MS = 120_000;

/** A producer and three worker processes. The first of these lives as long as the run. */
export async function queues({ redis, prefix, seconds }: Place): Promise<Workload> {
  const tasks = Math.ceil(seconds * CHUNK * (1_000 / PAUSE_MS)) + 10_000;
  const run = new QueueRun(redis, {
    prefix,
    tasks,
    queues: ['q', 'shards'],
    queueOptions: (name) => (name === 'shards' ? { shards: 3 } : {}),
    plan: planLoad,
    workers: LOAD_WORKERS,
    chunk: CHUNK,
    pauseMs: PAUSE_MS,
  });
  const [veteran] = await run.fleet.start(WORKERS);
  const endReplacing = run.fleet.keep(WORKERS);
  const producing = run.producer.run();
  return {
    progress: () => run.fleet.records,
    veterans: () => [{ name: 'worker', pid: veteran!.pid }],
    async strike(how, ms) {
      const victim = oneOf(run.fleet.running.filter((worker) => worker !== veteran));
      if (!victim) return;
      if (how === 'kill') await victim.kill();
      else {
        await victim.pause();
        await pause(ms);
        victim.resume();
      }
    },
    noted: async (fault) => run.noted(fault),
    async finish() {
      run.producer.stop();
      await producing;
      await endReplacing();
      const {
        violations,
        tasks: counts,
        executions,
        duplicates,
      } = await run.verdict({
        withinMs: REST_MS,
        endOf: endOfLoad,
      });
      const own = run.fleet.failed.filter(({ isKilled }) => !isKilled).length;
      return {
        violations: [
          ...unfinishedOf(counts),
          ...violations.map(({ rule, task, details }) => `${rule}, task ${task}: ${details}`),
          ...(own > 0 ? [`${own} workers ended by themselves`] : []),
        ],
        figures: {
          accepted: run.producer.accepted,
          succeeded: counts.succeeded,
          dead: counts.dead,
          forgotten: counts.forgotten,
          executions,
          'ran again unasked': duplicates,
        },
      };
    },
    async clean() {
      for (const queue of run.queues) await queue.obliterate({ force: true });
    },
    dispose: () => run.dispose(),
  };
}
