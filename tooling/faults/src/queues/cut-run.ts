/** A small run in this process whose producer and worker have one connection each through a proxy that breaks one of them once. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Queue, Worker } from '@mortise/queues';
import type { RedisServer } from '@mortise/redis-server';
import { freshPrefix, until } from '@mortise/test-kit';
import { Redis } from 'ioredis';
import { nowUs } from '../locks/clock.js';
import type { Account } from './accountant.js';
import { account } from './accountant.js';
import type { Cut } from './cutter.js';
import { Cutter } from './cutter.js';
import { Executions } from './executions.js';
import type { PlannedTask } from './producer.js';
import { Producer } from './producer.js';
import { recorded } from './recorded.js';
import { Recorder } from './records.js';
import { Stored } from './stored.js';
import { taskId } from './task-ids.js';

/** Whether the client sends again what was under way when its connection broke. */
export type Client = 'patient' | 'impatient';

export interface CutResult {
  readonly account: Account;
  readonly requests: number;
  readonly replies: number;
  readonly hasCut: boolean;
}

const LEASE_MS = 1_000;
const CANCELLED = 7;
const PLAN: readonly PlannedTask[] = [
  { name: 'work', payload: null },
  { name: 'fail once', payload: null },
  { name: 'work', payload: null, options: { delayMs: 20, priority: 'high' } },
  { name: 'sleep', payload: 450 },
  { name: 'work', payload: null, options: { group: 'a group' } },
  { name: 'later', payload: null, options: { group: 'a group' } },
  { name: 'discard', payload: null },
  { name: 'work', payload: null, options: { delayMs: 3_600_000 } },
];

export const CUT_RUN_ENDS = { succeeded: 6, dead: 1, cancelled: 1 } as const;

/** Every kind of call of a queue and of a worker, in turn. */
export async function runWithCut(server: RedisServer, client: Client, cut?: Cut): Promise<CutResult> {
  const directory = mkdtempSync(join(tmpdir(), 'mortise-faults-'));
  const prefix = freshPrefix();
  const cutter = await Cutter.start(server, cut);
  const direct = new Redis(server.url);
  const [produces, works] = [connect(cutter.url, client), connect(cutter.url, client)];
  const file = join(directory, 'records');
  const recorder = new Recorder(file);
  const { handlers, onError } = recorded(0, recorder);
  const worker = new Worker(works, ['q'], handlers, {
    prefix,
    leaseMs: LEASE_MS,
    backoff: { type: 'fixed', delayMs: 5 },
    // Errors of a broken connection are what this is about.
    onError: (error) => (error as { code?: string }).code === 'ERR_LEASE_LOST' && onError(error),
    onFailed: () => undefined,
  });
  const queue = new Queue(produces, 'q', { prefix });
  const observer = new Queue(direct, 'q', { prefix });
  const tasks = PLAN.length;
  const plan = (task: number): PlannedTask => ({
    ...PLAN[task]!,
    options: { attempts: 100, ...PLAN[task]!.options },
  });
  const producer = new Producer({ tasks, queueOf: () => queue, plan, chunk: 3 });
  const from = nowUs();
  try {
    await worker.start();
    await repeated(() => queue.configure({ groups: { ordered: true } }));
    await producer.run();
    await repeated(() => queue.cancel(taskId(CANCELLED)));
    await until('all to end', () => hasEnded(observer), 15_000).catch(() => undefined);
    const readAt = Date.now();
    await worker.stop({ graceMs: 0 });
    const found = account({
      tasks,
      executions: Executions.read([{ worker: 0, file, killedAt: Infinity, stops: [] }]),
      stored: await Stored.read([observer], tasks),
      acceptedAt: producer.acceptedAt,
      cancelledAt: Float64Array.from(PLAN, (_, task) => (task === CANCELLED ? 1 : 0)),
      faults: [{ from, to: nowUs(), mayForget: false }],
      leaseMs: LEASE_MS,
      readAt,
      mayBeRemoved: false,
      groups: [[4, 5]],
    });
    const { requests, replies, hasCut } = cutter;
    return { account: found, requests, replies, hasCut };
  } finally {
    await worker.stop({ graceMs: 0 });
    for (const redis of [produces, works, direct]) redis.disconnect();
    await cutter.stop();
    recorder.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

function connect(url: string, client: Client): Redis {
  const isPatient = client === 'patient';
  const redis = new Redis(url, {
    retryStrategy: () => 10,
    autoResendUnfulfilledCommands: isPatient,
    maxRetriesPerRequest: isPatient ? null : 0,
  });
  redis.on('error', () => undefined);
  return redis;
}

/** Its reply may be what is lost. */
async function repeated(call: () => Promise<unknown>): Promise<void> {
  await until(
    'a call to be answered',
    () =>
      call().then(
        () => true,
        () => false,
      ),
    15_000,
  );
}

async function hasEnded(queue: Queue): Promise<boolean> {
  const { scheduled, ready, active, retrying } = await queue.counts();
  return scheduled + ready + active + retrying === 0;
}
