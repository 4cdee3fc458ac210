/** The imports of BullMQ's tests from `src/classes`. */
import { Worker as LayerWorker } from '../../../packages/queues/src/bullmq/index.ts';

export * from '../../../packages/queues/src/bullmq/index.ts';
export class RedisQueueBackend {}
export class RedisConnection {}

/** Tests with a fake clock replace BullMQ's wait between two tries. The layer has no such wait. */
export class Worker extends LayerWorker {
  delay() {
    return Promise.resolve();
  }
}
