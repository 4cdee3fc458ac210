/** The changes of caches: a follower who may have missed some learns it. */
import { expect, test } from '@jest/globals';
import { connect, disconnectLater, freshPrefix, runServer } from '@mortise/test-kit';
import { Redis } from 'ioredis';

import type { CacheEvent } from '../../src/caches/cache-changes.js';
import { CacheChanges } from '../../src/caches/cache-changes.js';
import { readConfig } from '../../src/config.js';
import { inTenant } from '../../src/tenants/tenancy.js';
import { REDIS_URL } from '../fixture/redis.js';

const redis = connect();
const { server } = await runServer();
const config = readConfig({ REDIS_URL, MORTISE_PREFIX: freshPrefix(), AUTH: 'off' });

interface Subscription {
  readonly changes: CacheChanges;
  readonly events: AsyncIterator<CacheEvent>;
  readonly controller: AbortController;
}

const follow = (client = redis): Promise<Subscription> =>
  inTenant('acme', async () => {
    const changes = new CacheChanges(client, config);
    const controller = new AbortController();
    const events = await changes.follow('pages', controller.signal);
    return { changes, events: events[Symbol.asyncIterator](), controller };
  });
const publish = (changes: CacheChanges, key: string): Promise<void> =>
  inTenant('acme', () => changes.publish('pages', { type: 'stored', key }));

/** Resolves when all that was published before has arrived. */
async function delivered(changes: CacheChanges): Promise<void> {
  const { events, controller } = await follow();
  await publish(changes, 'end');
  await events.next();
  controller.abort();
}

test('a follower whose subscription was interrupted gets a reset, and goes on', async () => {
  const client = disconnectLater(new Redis(server.url));
  const { changes, events, controller } = await follow(client);
  const next = events.next();
  await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
  expect((await next).value).toEqual({ type: 'reset' });
  await publish(changes, 'a');
  expect((await events.next()).value).toEqual({ type: 'stored', key: 'a' });
  controller.abort();
  expect((await events.next()).done).toBe(true);
});

test('a follower that is a thousand changes behind gets a reset in their place', async () => {
  const { changes, events, controller } = await follow();
  for (let n = 0; n < 1_000; n += 1) await publish(changes, String(n));
  expect((await events.next()).value).toEqual({ type: 'stored', key: '0' });
  for (const key of ['fits', 'does not', 'last']) await publish(changes, key);
  // Another follower has the last one.
  await delivered(changes);
  expect((await events.next()).value).toEqual({ type: 'reset' });
  expect((await events.next()).value).toEqual({ type: 'stored', key: 'last' });
  expect((await events.next()).value).toEqual({ type: 'stored', key: 'end' });
  controller.abort();
});

test('a message of another program is a reset, and its signal ends a follower', async () => {
  const { changes, events, controller } = await follow();
  const channel = `${config.MORTISE_PREFIX}.t.acme:api:{pages}:cache-changes`;
  expect(await redis.publish(channel, '*:?')).toBeGreaterThan(0);
  expect((await events.next()).value).toEqual({ type: 'reset' });
  const next = events.next();
  controller.abort();
  expect((await next).done).toBe(true);
  const ended = await inTenant('acme', () => changes.follow('pages', controller.signal));
  expect(await ended[Symbol.asyncIterator]().next()).toMatchObject({ done: true });
});
