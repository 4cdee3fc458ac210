import { crewWork } from '../../crew.js';
import type { Bar, Competitor, Scenario } from '../../scenario.js';
import type { EnqueueReport, EnqueueSettings } from './enqueue.process.js';
import type { QueueKind } from './kind.js';
import { BEE_QUEUE, BEE_QUEUE_LEAN, BULLMQ, FLOOR, MORTISE } from './kinds/index.js';

const SECONDS = 1;
const WARM_UP_SECONDS = 0.5;

type Callers = Pick<EnqueueSettings, 'callers' | 'batch'>;

function competitor(kind: QueueKind, callers: Callers): Competitor {
  return {
    name: kind.name,
    version: kind.version,
    prepare: async (redis, { url, seconds = SECONDS }) => {
      let reported = 0;
      const work = await crewWork<EnqueueReport>({
        module: new URL('enqueue.process.js', import.meta.url),
        settings: [{ url, kind: kind.name, ...callers } satisfies EnqueueSettings],
        warmUpSeconds: WARM_UP_SECONDS,
        seconds,
        outcome: ([report]) => {
          reported = report!.tasks;
          return { operations: reported };
        },
      });
      return {
        ...work,
        close: async () => {
          await work.close();
          const stored = await kind.unfinished(redis);
          if (stored < reported)
            throw new Error(`${kind.name} accepted ${reported} tasks and stored ${stored}`);
        },
      };
    },
  };
}

function scenario(callers: Callers, rest: Pick<Scenario, 'name' | 'title' | 'method' | 'bars'>): Scenario {
  return {
    ...rest,
    operation: 'one task of 100 bytes stored',
    competitors: [MORTISE, BULLMQ, BEE_QUEUE, BEE_QUEUE_LEAN, FLOOR].map((kind) => competitor(kind, callers)),
    columns: ['operations/s', 'Redis CPU µs', 'Node CPU µs', 'commands sent', 'commands run', 'bytes in'],
  };
}

function rate(atLeast: number, than: QueueKind): Bar {
  return { competitor: MORTISE.name, figure: 'operations/s', atLeast, times: than.name };
}

function nodeCpu(atMost: number): Bar {
  return { competitor: MORTISE.name, figure: 'Node CPU µs', atMost };
}

export const enqueue: readonly Scenario[] = [
  scenario(
    { callers: 1, batch: 1 },
    {
      name: 'queues.enqueue-001',
      title: 'Queues: enqueue, 1 caller',
      method: 'One process, one call after the other.',
    },
  ),
  scenario(
    { callers: 100, batch: 1 },
    {
      name: 'queues.enqueue-100',
      title: 'Queues: enqueue, 100 concurrent callers',
      method: 'One process; each caller waits for one call before the next.',
      bars: [rate(4, BULLMQ), rate(1, BEE_QUEUE), rate(1.2, BEE_QUEUE_LEAN), nodeCpu(10)],
    },
  ),
  scenario(
    { callers: 1, batch: 1000 },
    {
      name: 'queues.bulk',
      title: 'Queues: enqueue, 1,000 tasks a call',
      method: 'One process, one call after the other.',
      bars: [rate(7, BULLMQ), rate(2, BEE_QUEUE), rate(2, BEE_QUEUE_LEAN), nodeCpu(6)],
    },
  ),
];
