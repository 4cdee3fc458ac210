/** Random actions of the members of chats, and of a follower, while connections are cut. */
import { afterAll, describe, expect, test } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { startProxy } from '@mortise/redis-server';
import { disconnectLater, runCluster, runServer } from '@mortise/test-kit';
import * as fc from 'fast-check';
import type { Cluster } from 'ioredis';
import { Redis } from 'ioredis';
import { rounds } from './fixture/chats-actions.js';
import { World } from './fixture/chats-world.js';
import { followSteps, FollowWorld } from './fixture/follow-world.js';

const { server, redis } = await runServer();
const { servers, connect: connectCluster } = await runCluster({ replicasPerMaster: 0 });
const proxy = await startProxy(server);
afterAll(() => proxy.stop());

function connectThroughProxy(): Redis {
  const options = { retryStrategy: () => 10, maxRetriesPerRequest: null, disconnectTimeout: 100 };
  return disconnectLater(new Redis(proxy.url, options));
}

/** Ends connections to all nodes, as a network does. */
const killOnCluster = (type: 'normal' | 'pubsub'): Promise<unknown> =>
  Promise.all(servers.nodes.map((node) => node.command('CLIENT', 'KILL', 'TYPE', type)));

/** Lives some lives; returns the states of the clients afterwards. */
async function statesAfter<Life>(
  clients: readonly (Redis | Cluster)[],
  lives: fc.Arbitrary<Life>,
  numRuns: number,
  live: (life: Life) => Promise<void>,
): Promise<Set<string>> {
  // Nothing would be smaller: what runs at once runs otherwise the next time.
  await fc.assert(fc.asyncProperty(lives, live), { numRuns, endOnFailure: true });
  return new Set(clients.map(({ status }) => status));
}

const CONNECTED = new Set(['ready']);

describe('chats of several processes lose, reorder and invent nothing', () => {
  const PROCESSES = 3;

  test('on a single node', async () => {
    const clients = Array.from({ length: PROCESSES }, connectThroughProxy);
    /** Commands are executed and their replies lost; ioredis then sends them once more. */
    const cut = async (): Promise<void> => {
      proxy.dropReplies();
      await pause(2);
      await proxy.restore();
    };
    const states = await statesAfter(clients, rounds, 5, async (life) => {
      const world = new World(clients, cut);
      for (const round of life) await world.live(round);
    });
    expect(states).toEqual(CONNECTED);
  });

  test('on Cluster', async () => {
    const clients = Array.from({ length: PROCESSES }, () => connectCluster({ retryDelayOnFailover: 10 }));
    for (const client of clients) await client.ping();
    const states = await statesAfter(clients, rounds, 5, async (life) => {
      const world = new World(clients, () => killOnCluster('normal'));
      for (const round of life) await world.live(round);
    });
    expect(states).toEqual(CONNECTED);
  });
});

describe('a member who comes and goes while they are followed gets their messages, and no others', () => {
  test('on a single node, with outages', async () => {
    const followed = connectThroughProxy();
    const connection = { cut: () => proxy.refuse(), restore: () => proxy.restore() };
    const states = await statesAfter([redis, followed], followSteps, 40, (life) =>
      new FollowWorld(redis, followed, connection).live(life),
    );
    expect(states).toEqual(CONNECTED);
  });

  test('on Cluster, with subscriptions that are killed', async () => {
    const [cluster, followed] = [connectCluster(), connectCluster()];
    const connection = { cut: () => killOnCluster('pubsub'), restore: () => undefined };
    const states = await statesAfter([cluster, followed], followSteps, 15, (life) =>
      new FollowWorld(cluster, followed, connection).live(life),
    );
    expect(states).toEqual(CONNECTED);
  });
});
