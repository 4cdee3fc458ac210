import { describe, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { connect, freshPrefix } from '@mortise/test-kit';
import { launch } from '../fixture/launch.js';
import { until } from '../fixture/until.js';

const redis = connect();

const HOSTILE = ['}x', '{}', '%', 'a\nb', '\0', '🙂', '\ud800', '__proto__', '-', 'x'.repeat(1_024)];

describe('names', () => {
  test('of all queues that have had tasks, with any names', async () => {
    const prefix = freshPrefix();
    expect(await Queue.names(redis, { prefix })).toEqual([]);
    for (const name of HOSTILE) await new Queue(redis, name, { prefix }).enqueue('t', 1);
    // Looking at a queue does not make one.
    await new Queue(redis, 'unused', { prefix }).counts();
    expect(await Queue.names(redis, { prefix })).toEqual(HOSTILE.toSorted());
    expect(await Queue.names(redis, { prefix: `${prefix}:other` })).toEqual([]);
  });

  test('are stored before the first task, and again after a failure', async () => {
    const prefix = freshPrefix();
    const other = connect();
    const queue = new Queue(other, 'q', { prefix });
    await redis.set(`${prefix}:queues:{-%%-1}:names`, 'in the way');
    await expect(queue.enqueue('t', 1)).rejects.toThrow('WRONGTYPE');
    expect(await new Queue(redis, 'q', { prefix }).counts()).toMatchObject({ ready: 0 });
    await redis.del(`${prefix}:queues:{-%%-1}:names`);
    await queue.enqueue('t', 1);
    expect(await Queue.names(redis, { prefix })).toEqual(['q']);
  });

  test('are in no way of a queue that is called like the place where they stand', async () => {
    const prefix = freshPrefix();
    await new Queue(redis, '-', { prefix, shards: 2 }).enqueue('t', 1);
    await new Queue(redis, '-%%-1', { prefix }).enqueue('t', 1);
    expect(await Queue.names(redis, { prefix })).toEqual(['-', '-%%-1']);
  });
});

describe('pauseAll and resumeAll', () => {
  test('no worker takes anything, whatever the queue', async () => {
    const prefix = freshPrefix();
    const names = Array.from({ length: 20 }, (_, n) => `q${n}`);
    const queues = names.map((name) => new Queue(redis, name, { prefix, shards: name === 'q7' ? 3 : 1 }));
    await Promise.all(queues.map((queue) => queue.enqueue('t', 1)));
    expect(await Queue.pauseAll(redis, { prefix })).toEqual(names.toSorted());
    const ran: string[] = [];
    await launch(redis, names, { t: (_, { queue }) => void ran.push(queue) }, { prefix });
    await until(async () => (await redis.exists(`${prefix}:queues:{q19}:idle`)) === 1);
    expect(ran).toEqual([]);
    expect(await Queue.resumeAll(redis, { prefix })).toEqual(names.toSorted());
    await until(() => ran.length === names.length);
    expect(ran.toSorted()).toEqual(names.toSorted());
  });

  test('none', async () => {
    expect(await Queue.pauseAll(redis, { prefix: freshPrefix() })).toEqual([]);
  });
});
