import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { queueEvents, reasons, results } from './events.js';
import { addHouse, addJobs, flows, myQueue } from './jobs.js';
import { painted, worker } from './worker.js';

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) {
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
}

before(() => queueEvents.waitUntilReady());
after(async () => {
  await worker.close();
  await queueEvents.close();
  await flows.close();
  await myQueue.close();
});

void test('jobs run, after their delays and once more after a failure', { timeout: 30_000 }, async () => {
  await addJobs();
  await until(() => results.size === 3 && reasons.size === 1);
  assert.deepEqual(painted.toSorted(), ['blue', 'green', 'red']);
  assert.deepEqual([...results.values()].map(String).toSorted(), [
    'blue at attempt 1',
    'green at attempt 3',
    'red at attempt 1',
  ]);
  assert.deepEqual([...reasons.values()], ['no such color']);
});

void test('a flow ends with its parent', { timeout: 30_000 }, async () => {
  await addHouse();
  await until(() => [...results.values()].includes('a house of 2 parts'));
  const counts = await myQueue.getJobCounts('completed', 'failed', 'waiting');
  assert.deepEqual(counts, { completed: 6, failed: 1, waiting: 0 });
});

void test('a job scheduler adds jobs', { timeout: 30_000 }, async () => {
  const { length } = painted;
  await myQueue.upsertJobScheduler('daily', { every: 50 }, { name: 'paint', data: { color: 'grey' } });
  await until(() => painted.length >= length + 3);
  assert.equal((await myQueue.getJobSchedulers()).length, 1);
  await myQueue.removeJobScheduler('daily');
});
