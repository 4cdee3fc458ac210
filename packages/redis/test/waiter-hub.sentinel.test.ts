import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { runSentinel } from '@mortise/test-kit';
import { MAJORS, connectSentinel } from './fixture/clients.js';
import type { Major } from './fixture/clients.js';
import { connectionsOf } from './fixture/observe.js';
import { TestChannel, waitingCases, wakesAfterBreak, WHOLE_AGAIN } from './fixture/waiting-cases.js';

const { servers: sentinel } = await runSentinel();

function connect(major: Major, options: object = {}): Redis {
  const { name, sentinels } = sentinel;
  return connectSentinel(major, { name, sentinels, ...options });
}

describe.each(MAJORS)('Sentinel, ioredis %s', (major) => {
  waitingCases({ connect: () => connect(major), servers: () => sentinel.servers });

  test('uses as many connections as on a single node', async () => {
    const name = randomUUID();
    await new TestChannel(connect(major, { connectionName: name })).waiter('w');
    const names = (await connectionsOf(sentinel.servers, name)).map((connection) => connection.name);
    expect(names.toSorted()).toEqual(major === '6' ? [name] : [name, `${name}:mortise-subscriber`]);
  });
});

test('a failover gives resync, and messages flow again', async () => {
  const channels = MAJORS.map((major) => new TestChannel(connect(major)));
  const waiters = await Promise.all(channels.map((channel) => channel.waiter('w')));
  const old = await sentinel.master();
  await old.kill();
  await sentinel.failover();
  const wakes = channels.map((channel, index) => wakesAfterBreak(channel, waiters[index]!, connect('6')));
  expect(await Promise.all(wakes)).toEqual(channels.map(() => WHOLE_AGAIN));
  expect(await sentinel.master()).not.toBe(old);
});
