/**
 * The server of a chat changes while processes post, pull and follow.
 *
 * Redis replicates asynchronously: a master that dies, and one that Sentinel demotes, may take messages with it that it has
 * accepted a moment before. That moment is all that is excused. A failover that Cluster was asked for, and a slot that moves,
 * lose nothing.
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { RedisCluster, RedisSentinel } from '@mortise/redis-server';
import { keySlot, startCluster, startSentinel } from '@mortise/redis-server';
import { freshPrefix, until } from '@mortise/test-kit';
import type { RedisAddress } from '../../src/locks/config.js';
import type { Account } from '../../src/messaging/accountant.js';
import { ChatRun, describeAccount } from '../../src/messaging/chat-run.js';

/** In slots of three masters. */
const CHATS = ['a', 'b', 'c'];

let run: ChatRun;

afterEach(() => run?.dispose());

async function underLoad(
  address: RedisAddress,
  act: () => Promise<unknown>,
  mayForget: boolean,
): Promise<Account> {
  run = await ChatRun.start(address, { prefix: freshPrefix(), chats: CHATS });
  await run.movesOn(50);
  await run.during(act, { mayForget });
  await run.movesOn(50);
  const account = await run.verdict();
  process.stdout.write(describeAccount(run, account));
  return account;
}

describe('Sentinel', () => {
  let group: RedisSentinel;

  beforeEach(async () => {
    group = await startSentinel();
  });

  afterEach(() => group?.stop());

  function address(): RedisAddress {
    return { name: group.name, sentinels: group.sentinels };
  }

  test('promotes a replica: what was accepted before the last moment is there', async () => {
    const { violations } = await underLoad(address(), () => group.failover(), true);
    expect(violations).toEqual([]);
  });

  test('replaces a master that was killed: what was accepted before the last moment is there', async () => {
    const { violations } = await underLoad(
      address(),
      async () => {
        const master = await group.master();
        await master.kill();
        await until('another master', async () => (await group.master()) !== master);
      },
      true,
    );
    expect(violations).toEqual([]);
  });
});

describe('Cluster', () => {
  let cluster: RedisCluster;

  beforeEach(async () => {
    cluster = await startCluster({ nodeTimeoutMs: 3_000 });
  });

  afterEach(() => cluster?.stop());

  function address(): RedisAddress {
    return { startupNodes: cluster.startupNodes };
  }

  test('promotes replicas of all masters on request: nothing is lost', async () => {
    const { violations, forgotten } = await underLoad(
      address(),
      async () => {
        for (const slot of [0, 8_000, 16_000]) {
          await cluster.failover(await cluster.ownerOf(slot));
          await run.movesOn(20);
        }
      },
      false,
    );
    expect({ violations, forgotten }).toEqual({ violations: [], forgotten: 0 });
  });

  test('replaces a master that was killed: what was accepted before the last moment is there', async () => {
    const { violations } = await underLoad(
      address(),
      async () => {
        const master = await cluster.ownerOf(`{${CHATS[0]!}}`);
        await master.kill();
        await until('another owner', async () => (await cluster.ownerOf(`{${CHATS[0]!}}`)) !== master);
      },
      true,
    );
    expect(violations).toEqual([]);
  });

  test('moves the slots of chats to another master, and back: nothing is lost', async () => {
    const { violations, forgotten } = await underLoad(
      address(),
      async () => {
        for (const chat of CHATS) {
          const key = `{${chat}}`;
          const first = await cluster.ownerOf(key);
          const masters = await Promise.all([0, 8_000, 16_000].map((slot) => cluster.ownerOf(slot)));
          for (const target of [masters.find((master) => master !== first)!, first]) {
            await cluster.moveSlot(keySlot(key), target);
            await run.movesOn(10);
          }
        }
      },
      false,
    );
    expect({ violations, forgotten }).toEqual({ violations: [], forgotten: 0 });
  });
});
