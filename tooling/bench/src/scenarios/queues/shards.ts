import { Queue, Worker } from '@mortise/queues';
import type { Cluster } from 'ioredis';
import type { Competitor, Scenario } from '../../scenario.js';
import { versionOf } from '../../version-of.js';
import type { ClusterWork } from '../scale/on-masters.js';
import { calls, COLUMNS, CPU, onMasters } from '../scale/on-masters.js';

const TASKS = 30_000;
const CALLERS = 100;
const CONCURRENCY = 100;
const PAYLOAD = { text: 'x'.repeat(88) };
/** More than one shard costs at most this much more. */
const MOST_MORE = 1.15;
const ONE = '1 master, 1 shard';

async function work(redis: Cluster, masters: number, shards: number): Promise<ClusterWork> {
  let round = 0;
  let worker: Worker<{ t: unknown }> | undefined;
  const queue = new Queue<{ t: unknown }>(redis, 'bench', { shards });
  await queue.counts();
  return {
    run: async () => {
      const tasks = round === 0 ? TASKS / 10 : TASKS;
      round += 1;
      await calls(tasks, CALLERS * masters, () => queue.enqueue('t', PAYLOAD));
      let left = tasks;
      await new Promise<void>((resolve, reject) => {
        const t = (): void => {
          left -= 1;
          if (left === 0) resolve();
        };
        worker = new Worker(redis, ['bench'], { t }, { concurrency: CONCURRENCY * masters });
        worker.start().catch(reject);
      });
      await worker?.stop();
      const { succeeded, dead } = await queue.counts();
      if (succeeded === 0 || dead > 0) throw new Error(`${dead} tasks are dead`);
      return tasks;
    },
  };
}

function competitor(masters: number, shards: number): Competitor {
  const name = `${masters} ${masters === 1 ? 'master' : 'masters'}, ${shards} ${shards === 1 ? 'shard' : 'shards'}`;
  return onMasters(name, versionOf('@mortise/queues'), masters, (redis) => work(redis, masters, shards));
}

const competitors = [
  competitor(1, 1),
  competitor(1, 3),
  competitor(1, 12),
  competitor(2, 12),
  competitor(3, 3),
  competitor(3, 12),
];

export const shards: readonly Scenario[] = [
  {
    name: 'queues.shards',
    title: 'Queues: shards over 1, 2 and 3 masters',
    operation: 'one task of 100 bytes stored, taken, run and settled',
    method:
      `${CALLERS} callers for each master store ${TASKS} tasks; then one worker runs them, with a concurrency of ${CONCURRENCY} for ` +
      'each master, in the same process. Costs are ' +
      'sums over all masters, which share the cores of this machine. So the rate says nothing of several machines.',
    competitors,
    columns: [...COLUMNS, `${CPU} ÷ ${ONE}`],
    drawn: CPU,
    baseline: { competitor: ONE, figure: CPU },
    bars: competitors
      .filter(({ name }) => name.endsWith('12 shards'))
      .map(({ name }) => ({ competitor: name, figure: CPU, atMost: MOST_MORE, times: ONE })),
  },
];
