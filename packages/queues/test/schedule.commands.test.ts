import { expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { connect, freshPrefix } from '@mortise/test-kit';
import { QueueKeys } from '../src/keys.js';
import { ScheduleRunner } from '../src/schedule/schedule-runner.js';
import { Shards } from '../src/shard/shards.js';
import { ErrorReporter } from '@mortise/redis';
import { setDue } from './set-due.js';
import { commands } from './commands.js';

const redis = connect();

// oxlint-disable-next-line typescript/no-explicit-any -- tests use payloads of all types
type Tasks = Record<string, any>;

const NINE = { cron: '0 9 * * *' } as const;

/** Everything has been used once: scripts are known to the server, and the settings to this process. */
async function used(): Promise<{
  prefix: string;
  queue: Queue<Tasks>;
  runner: ScheduleRunner;
  keys: QueueKeys;
}> {
  const prefix = freshPrefix();
  const queue = new Queue<Tasks>(redis, 'q', { prefix, priorities: ['high', 'low'] });
  const runner = new ScheduleRunner(
    redis,
    'q',
    new Shards(redis, 'q', prefix),
    new ErrorReporter('test', console.error, redis),
  );
  const keys = new QueueKeys('q', prefix);
  await queue.schedule('first', { everyMs: 1_000 }, 't', 1);
  await setDue(redis, keys, 'first', 1_000);
  await runner.run();
  await queue.unschedule('first');
  return { prefix, queue, runner, keys };
}

test('schedule', async () => {
  const { prefix, queue } = await used();
  const schedule = () => queue.schedule('daily', NINE, 't', 1);
  expect(await commands(redis, prefix, schedule)).toMatchInlineSnapshot(`
"schedule.read:  time · hget schedules
schedule.set:  get settings · hget schedules · hlen schedules · time · hset schedules · zadd dueSchedules · get timekeeper · zpopmin idle"
`);
  // At the next start of the process.
  expect(await commands(redis, prefix, schedule)).toMatchInlineSnapshot(
    `"schedule.read:  time · hget schedules"`,
  );
});

test('schedules and unschedule', async () => {
  const { prefix, queue } = await used();
  await queue.schedule('daily', NINE, 't', 1);
  expect(await commands(redis, prefix, () => queue.schedules())).toMatchInlineSnapshot(`"hscan schedules"`);
  expect(await commands(redis, prefix, () => queue.unschedule('daily'))).toMatchInlineSnapshot(
    `"schedule.remove:  zrem dueSchedules · hdel schedules"`,
  );
});

test('runner: three round trips for all that is due together, one more to find that there is no more', async () => {
  const { prefix, queue, runner, keys } = await used();
  for (const key of ['a', 'b', 'c']) {
    await queue.schedule(key, { everyMs: 3_600_000 }, 't', 1);
    await setDue(redis, keys, key, 1_000);
  }
  const sent = await commands(redis, prefix, () => runner.run());
  expect(sent.replace(/^queue\.enqueue:.*/m, 'queue.enqueue')).toMatchInlineSnapshot(`
"schedule.claim:  time · zrange dueSchedules · (hget schedules · zadd dueSchedules) ×3
queue.enqueue
schedule.fire:  time · (hget schedules · hset schedules · zadd dueSchedules) ×3
schedule.claim:  time · zrange dueSchedules"
`);
});

test('the keys that schedules leave', async () => {
  const { prefix, queue, keys } = await used();
  await queue.schedule('daily', NINE, 't', 1);
  const types = new Map<string, string>();
  for (const key of await redis.keys(`${prefix}:queues:{q}:*`)) types.set(key, await redis.type(key));
  // What is below is of the task that the first schedule has made.
  expect(Object.fromEntries(types)).toEqual({
    [keys.of.settings]: 'string',
    [keys.of.schedules]: 'hash',
    [keys.of.dueSchedules]: 'zset',
    [keys.of.tasks]: 'hash',
    [keys.priorityKeys(2)[3]!]: 'list',
    [keys.of.dedupIds]: 'zset',
  });
  await queue.unschedule('daily');
  expect(await redis.exists(keys.of.schedules, keys.of.dueSchedules)).toBe(0);
});
