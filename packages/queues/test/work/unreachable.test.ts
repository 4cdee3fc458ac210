import { expect, test } from '@jest/globals';
import { Worker } from '@mortise/queues';
import { disconnectLater, freshPrefix } from '@mortise/test-kit';
import { Redis } from 'ioredis';

test('stop ends within 2 s while Redis cannot be reached', async () => {
  // Nothing listens at port 1.
  const redis = disconnectLater(new Redis({ host: '127.0.0.1', port: 1, retryStrategy: () => 1_000 }));
  const worker = new Worker(
    redis,
    ['q'],
    { t: () => 1 },
    { prefix: freshPrefix(), onError: () => undefined },
  );
  await worker.start();
  await new Promise((resolve) => redis.once('reconnecting', resolve));
  const startedAt = performance.now();
  await worker.stop();
  expect(performance.now() - startedAt).toBeLessThan(9_000);
});
