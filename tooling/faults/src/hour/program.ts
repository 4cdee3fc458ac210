/** The conductor, a process for one workload: it starts the processes of the workload, and checks their records. */
import { connectTo } from '../connect.js';
import { keysOf } from '../files/stored.js';
import type { ConductorConfig, ConductorMessage, LeftKeys, NumberedOrder } from './protocol.js';
import type { Workload } from './workload.js';
import { WORKLOADS } from './workloads/index.js';

const TELL_EVERY_MS = 500;

const { workload: name, place } = JSON.parse(process.argv[2]!) as ConductorConfig;
process.on('disconnect', () => process.exit(1));
const workload = await WORKLOADS[name](place);
process.on('message', (order: NumberedOrder) => void obey(order));
tell({ type: 'ready' });
const telling = setInterval(() => void report(), TELL_EVERY_MS);

async function report(): Promise<void> {
  tell({ type: 'progress', progress: await workload.progress() });
}

async function obey(order: NumberedOrder): Promise<void> {
  const { id } = order;
  try {
    tell({ type: 'answer', id, result: (await resultOf(order)) ?? null });
  } catch (error) {
    tell({ type: 'failed', id, error: (error as Error).stack ?? String(error) });
  }
  if (order.do === 'clean') process.exit(0);
}

async function resultOf(order: NumberedOrder): Promise<unknown> {
  switch (order.do) {
    case 'veterans':
      return [...workload.veterans(), { name: 'conductor', pid: process.pid }];
    case 'strike':
      return workload.strike(order.how, order.ms);
    case 'begins':
      return workload.begins?.();
    case 'noted':
      return workload.noted(order.fault);
    case 'finish':
      clearInterval(telling);
      return workload.finish();
    case 'clean':
      return clean(workload);
    default:
      throw new TypeError('there is no such order');
  }
}

/** Removes all stored data, ends all processes, and counts the keys that are left. */
async function clean(done: Workload): Promise<LeftKeys> {
  await done.clean();
  await done.dispose();
  const redis = connectTo(place.redis);
  await redis.ping();
  let expiring = 0;
  const leaked: string[] = [];
  for (const key of (await keysOf(redis, `*${place.prefix}*`)).toSorted()) {
    const ttlMs = await redis.pttl(key);
    if (ttlMs >= 0) expiring += 1;
    else if (ttlMs === -1 && !done.permanent?.test(key)) leaked.push(key);
  }
  redis.disconnect();
  return { expiring, leaked };
}

function tell(message: ConductorMessage): void {
  if (process.connected) process.send!(message);
}
