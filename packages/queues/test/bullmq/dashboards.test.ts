import { expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues/bullmq';
import { connect, freshPrefix } from '@mortise/test-kit';

const connection = connect();

test('dashboards recognize a queue of BullMQ by the version among its values', () => {
  const options = { connection, prefix: freshPrefix(), streams: { events: { maxLen: 5 } } };
  const { metaValues } = new Queue('shown', options);
  // The check of Bull Board's BullMQAdapter, which knows BullMQ's own class else.
  expect(String(metaValues['version'])).toMatch(/^bullmq/);
  expect(metaValues['opts.maxLenEvents']).toBe(5);
  expect(new Queue('shown', { connection }).metaValues['opts.maxLenEvents']).toBe(10_000);
});
