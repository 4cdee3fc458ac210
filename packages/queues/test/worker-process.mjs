/**
 * A worker in a process of its own, on the built package, for tests that kill it. Its only argument is JSON with what to do;
 * it reports each task that begins, and each error, to its parent.
 */
import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from '@mortise/queues';
import { Redis } from 'ioredis';

const { url, queue, options } = JSON.parse(process.argv[2]);
const redis = new Redis(url);
let errors = 0;

const handlers = {
  /** Counts its runs in Redis. */
  count: (_, { id }) => redis.hincrby(`${options.prefix}:runs`, id, 1),
  wait: (ms, { signal }) => pause(ms, 'waited', { signal }),
  crash: () => process.kill(process.pid, 'SIGKILL'),
  /** Keeps the event loop from renewing the lease until there is such a file. */
  block: (file) => {
    while (!existsSync(file)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    return 'blocked';
  },
};

const reporting = Object.entries(handlers).map(([name, handler]) => [
  name,
  (payload, context) => {
    process.send({ type: 'begin', id: context.id, attempt: context.attempt });
    return handler(payload, context);
  },
]);

const { isQuiet, ...workerOptions } = options;
const worker = new Worker(
  redis,
  [queue],
  Object.fromEntries(isQuiet ? Object.entries(handlers) : reporting),
  {
    ...workerOptions,
    onError: (error) => {
      errors += 1;
      process.send({ type: 'error', code: error.code, message: String(error) });
    },
  },
);
await worker.start();

// "close": the client is closed under the running worker, which is stopped later.
async function close() {
  redis.disconnect();
  await pause(800);
  await worker.stop({ graceMs: 0 });
  process.send({ type: 'closed', errors });
  process.disconnect();
}
process.once('message', () => void close());
