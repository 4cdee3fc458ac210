import { afterAll, expect, test } from '@jest/globals';
import { Claims, Queue } from '@mortise/queues';
import { connect, freshPrefix, transcript } from '@mortise/test-kit';
import * as scripts from '../src/scripts.gen.js';
import { until } from './until.js';
import { withoutMaintenance } from './without-maintenance.js';

const redis = connect();
const prefix = freshPrefix();
const queue = new Queue(redis, 'q', { prefix, priorities: ['one'] });
const claims = new Claims(redis, 'q', { prefix });

afterAll(() => claims.stop());

/** The scripts that are called, and what they do. */
async function commands(
  action: () => Promise<unknown>,
  isOver: () => unknown = () => true,
): Promise<string[]> {
  const lines = await transcript(redis, { prefix, scripts }, async () => {
    await action();
    await until(isOver);
  });
  const sent = lines.filter((line) => !line.startsWith('zcard '));
  return withoutMaintenance(
    sent.map((line) =>
      line
        .replaceAll('queues:{q}:', '')
        .replace(/^evalsha(?:_ro)? (\S+) .*/, '$1')
        .replace(/idle \d+ \S+wake:\S+/, 'idle'),
    ),
  );
}

const idle = `${prefix}:queues:{q}:idle`;
const isLeft = async (): Promise<boolean> => (await redis.zcard(idle)) === 0;

test('claim, complete, fail and the others', async () => {
  // The first use of a script on a server sends its text.
  await queue.enqueueMany([1, 2, 3].map((payload) => ({ name: 't', payload })));
  const [warm] = await claims.claim();
  await claims.heartbeat(warm!.id, warm!.lease);
  await claims.fail(warm!.id, warm!.lease, { error: 'x', retry: false });
  const lines: Record<string, string[]> = {};
  let task = warm!;
  lines['claim'] = await commands(async () => {
    [task] = (await claims.claim()) as [typeof task];
  });
  lines['heartbeat'] = await commands(() => claims.heartbeat(task.id, task.lease));
  lines['complete'] = await commands(() => claims.complete(task.id, task.lease));
  [task] = (await claims.claim()) as [typeof task];
  lines['fail'] = await commands(() => claims.fail(task.id, task.lease, { error: 'x', retry: false }));
  lines['nothing to claim'] = await commands(() => claims.claim(), isLeft);
  expect(lines).toMatchInlineSnapshot(`
{
  "claim": [
    "fetcher.fetch-and-ack",
    "  get settings",
    "  time",
    "  exists ready:0 scheduled:0 retrying:0",
    "  exists scheduled:0 retrying:0",
    "  lpop ready:0",
    "  hmget tasks",
    "  hset attempts",
    "  zadd active",
    "  exists idle",
  ],
  "complete": [
    "fetcher.fetch-and-ack",
    "  get settings",
    "  time",
    "  hmget attempts",
    "  zrem active",
    "  exists ready:0 scheduled:0 retrying:0",
    "  exists scheduled:0 retrying:0",
    "  hset attempts",
    "  rpush succeeded",
    "  exists idle",
  ],
  "fail": [
    "queue.get",
    "  get settings",
    "  hget tasks",
    "  hget attempts",
    "  hget progress",
    "  hget logs",
    "  zscore active",
    "fetcher.fetch-and-ack",
    "  get settings",
    "  time",
    "  hmget attempts",
    "  zrem active",
    "  zadd dead",
    "  exists ready:0 scheduled:0 retrying:0",
    "  hset attempts",
    "  zcard dead",
    "  exists idle",
  ],
  "heartbeat": [
    "heartbeater.renew",
    "  time",
    "  hmget attempts",
    "  zadd active",
  ],
  "nothing to claim": [
    "fetcher.fetch-and-ack",
    "  get settings",
    "  time",
    "  exists ready:0 scheduled:0 retrying:0",
    "  zadd idle",
    "fetcher.fetch-and-ack",
    "  get settings",
    "  time",
    "  exists ready:0 scheduled:0 retrying:0",
    "  exists idle",
    "  zrem idle",
    "  zrange active",
    "  get timekeeper",
    "  exists ready:0",
  ],
}
`);
});
