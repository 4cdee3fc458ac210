/** A process that runs tasks and records each execution. Its argument has its work; a message stops it, and tests kill it. */
import { Worker } from '@mortise/queues';
import { connectTo } from '../connect.js';
import type { Order, WorkerConfig, WorkerMessage } from './config.js';
import { recorded } from './recorded.js';
import { Recorder } from './records.js';
import { sabotage } from './sabotage.js';

const config = JSON.parse(process.argv[2]!) as WorkerConfig;
if (config.sabotage !== undefined) sabotage(config.sabotage);

const redis = connectTo(config.redis);
const { handlers, onError } = recorded(config.worker, new Recorder(config.file));
const worker = new Worker(redis, config.queues, handlers, {
  ...config.options,
  onError,
  // The records tell of them.
  onFailed: () => undefined,
});

// A parent that is gone needs no tasks done.
const abandon = (): never => process.exit(1);
process.on('disconnect', abandon);
process.on('message', (order: Order) => void stop(order.graceMs));

await redis.ping();
await worker.start();
tell({ type: 'ready' });

async function stop(graceMs: number): Promise<void> {
  await worker.stop({ graceMs });
  tell({ type: 'stopped' });
  redis.disconnect();
  process.off('disconnect', abandon);
  process.disconnect();
}

function tell(message: WorkerMessage): void {
  process.send?.(message);
}
