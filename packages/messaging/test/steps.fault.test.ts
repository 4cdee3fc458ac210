/**
 * A change of two slots has steps, each of them one script. Here its process dies before each, and between the execution of
 * each and the reply. Another process then finds all or nothing of it, repeats it, and it is whole.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import type { Pulled } from '@mortise/messaging';
import type { RedisCluster } from '@mortise/redis-server';
import { startCluster } from '@mortise/redis-server';
import { connect, disconnect, freshPrefix, until } from '@mortise/test-kit';
import { Cluster } from 'ioredis';
import type { Redis } from 'ioredis';
import type { Death } from './fixture/stepwise-client.js';
import { DeathError, dieEverywhere, mortal } from './fixture/stepwise-client.js';

const MEMBERS = ['anna', 'ben', 'cleo'];
const bodiesOf = (pulled: readonly Pulled[]): unknown[][] =>
  pulled.map(({ messages }) => messages.map(({ body }) => body));

let servers: RedisCluster;
let cluster: Cluster;
const single = connect();
beforeAll(async () => {
  servers = await startCluster();
  cluster = new Cluster(
    servers.nodes.map(({ host, port }) => ({ host, port })),
    { redisOptions: { disconnectTimeout: 100 } },
  );
  cluster.on('error', () => undefined);
  await cluster.ping();
});
afterAll(async () => {
  disconnect(cluster);
  await servers.stop();
});

describe.each(['a single node', 'Cluster'])('a process dies at every step, on %s', (topology) => {
  const redis = (): Redis | Cluster => (topology === 'Cluster' ? cluster : single);

  /** The same chats for one who will die and one who lives on; the scripts are known, so steps are countable. */
  async function both(death: Death) {
    const prefix = freshPrefix();
    const dying = new Chats(mortal(redis(), death), { prefix });
    const chats = new Chats(redis(), { prefix });
    const indexOf = (member: string): string => `${prefix}:messaging:{${member}}:chats`;
    return {
      chats,
      dying,
      indexed: (member: string) => redis().zcard(indexOf(member)),
      /** A reader removes useless entries once they are old. */
      expectForgotten: async (member: string) => {
        const indexed = (await redis().call('zrange', [indexOf(member), 0, -1])) as string[];
        for (const chat of indexed) await redis().call('zadd', [indexOf(member), 1, chat]);
        expect(await chats.pull(member)).toEqual([]);
        await until('the cleaning', async () => (await redis().zcard(indexOf(member))) === 0);
      },
    };
  }

  /** True when it lived through. Any other failure than its death is one of the test. */
  async function survives(action: Promise<unknown>): Promise<boolean> {
    try {
      await action;
      return true;
    } catch (error) {
      if (error instanceof DeathError) return false;
      throw error;
    }
  }

  /** Loads the scripts on all nodes, so that no step is doubled. */
  beforeAll(async () => {
    for (let index = 0; index < 40; index += 1) {
      const chats = new Chats(redis(), { prefix: freshPrefix() });
      const { chatId } = await chats.create({ sender: `a${index}`, members: [`b${index}`], body: 1 });
      await chats.join(chatId, 'c');
      await chats.pull('c', { autoAck: true });
      await chats.ack(chatId, `b${index}`, 1);
      await chats.leave(chatId, 'c');
    }
  });

  test('create: all see the chat, or nobody does; doing it again makes one chat with one message', async () => {
    const steps = await dieEverywhere(async (death) => {
      const { chats, dying, expectForgotten } = await both(death);
      const creation = { sender: 'anna', members: MEMBERS, body: 'first', chatId: 'c', id: 'i' };
      const isAlive = await survives(dying.create(creation));
      const seen = await Promise.all(
        ['ben', 'cleo'].map(async (member) => bodiesOf(await chats.pull(member))),
      );
      const counts = await Promise.all(MEMBERS.map(async (member) => (await chats.chatsOf(member)).length));
      expect([
        [0, 0, 0],
        [1, 1, 1],
      ]).toContainEqual(counts);
      expect(seen).toEqual(counts[0] === 1 ? [[['first']], [['first']]] : [[], []]);
      expect(isAlive ? counts : [1, 1, 1]).toEqual([1, 1, 1]);
      if (counts[0] === 0) for (const member of MEMBERS) await expectForgotten(member);
      expect(await chats.create(creation)).toEqual({ chatId: 'c', isNew: counts[0] === 0, id: 1 });
      expect(await chats.create(creation)).toEqual({ chatId: 'c', isNew: false, id: 1 });
      for (const member of ['ben', 'cleo']) expect(bodiesOf(await chats.pull(member))).toEqual([['first']]);
      expect((await chats.members('c')).members.map(({ member }) => member)).toEqual(MEMBERS);
      return isAlive;
    });
    expect(steps).toBe(MEMBERS.length + 1);
  });

  test('join: a member or not, and nothing between; doing it again loses nothing', async () => {
    const steps = await dieEverywhere(async (death) => {
      const { chats, dying, expectForgotten } = await both(death);
      await chats.create({ sender: 'anna', members: ['ben'], body: 'before', chatId: 'c' });
      const isAlive = await survives(dying.join('c', 'cleo'));
      const isMember = (await chats.members('c')).members.some(({ member }) => member === 'cleo');
      await chats.post('c', 'anna', 'after');
      expect(bodiesOf(await chats.pull('cleo'))).toEqual(isMember ? [['after']] : []);
      if (!isMember) await expectForgotten('cleo');
      expect(await chats.join('c', 'cleo')).toEqual({ isNew: !isMember, ackedId: isMember ? 1 : 2 });
      await chats.post('c', 'anna', 'last');
      expect(bodiesOf(await chats.pull('cleo'))).toEqual([isMember ? ['after', 'last'] : ['last']]);
      return isAlive;
    });
    expect(steps).toBe(2);
  });

  test('leave: no ghost, what is left is trimmed, the index is cleaned', async () => {
    const steps = await dieEverywhere(async (death) => {
      const { chats, dying, indexed } = await both(death);
      await chats.create({ sender: 'anna', members: ['ben'], body: 'x', chatId: 'c' });
      const isAlive = await survives(dying.leave('c', 'ben'));
      const isMember = (await chats.members('c')).members.some(({ member }) => member === 'ben');
      expect(await chats.chatsOf('ben')).toHaveLength(isMember ? 1 : 0);
      expect(await chats.history('c')).toHaveLength(isMember ? 1 : 0);
      expect(await chats.leave('c', 'ben')).toBe(isMember);
      expect(await chats.history('c')).toEqual([]);
      expect(await chats.pull('ben')).toEqual([]);
      expect(await indexed('ben')).toBe(0);
      expect(await chats.members('c')).toMatchObject({ members: [{ member: 'anna' }] });
      return isAlive;
    });
    expect(steps).toBe(3);
  });

  test('the last leave: the chat is there or gone; a new one of its name has another epoch', async () => {
    const steps = await dieEverywhere(async (death) => {
      const { chats, dying } = await both(death);
      await chats.create({ sender: 'anna', members: ['ben'], body: 'x', chatId: 'c' });
      await chats.leave('c', 'ben');
      const [before] = await chats.chatsOf('anna');
      const isAlive = await survives(dying.leave('c', 'anna'));
      await chats.leave('c', 'anna');
      await expect(chats.history('c')).rejects.toMatchObject({ code: 'ERR_UNKNOWN_CHAT' });
      await expect(chats.join('c', 'ben')).rejects.toMatchObject({ code: 'ERR_UNKNOWN_CHAT' });
      await expect(chats.post('c', 'anna', 'y')).rejects.toMatchObject({ code: 'ERR_UNKNOWN_CHAT' });
      expect(await chats.chatsOf('ben')).toEqual([]);
      await chats.create({ sender: 'anna', members: ['ben'], body: 'new', chatId: 'c' });
      const [after] = await chats.chatsOf('anna');
      expect(after!.epoch).toBeGreaterThan(before!.epoch);
      expect(bodiesOf(await chats.pull('ben'))).toEqual([['new']]);
      return isAlive;
    });
    expect(steps).toBe(3);
  });

  test('pull and ack of many chats: each is acked or comes again, and none is skipped', async () => {
    await dieEverywhere(async (death) => {
      const { chats, dying } = await both(death);
      const chatIds = ['c1', 'c2', 'c3', 'c4'];
      for (const chatId of chatIds) {
        await chats.create({ sender: 'anna', members: ['ben'], chatId });
        for (const body of [1, 2, 3]) await chats.post(chatId, 'anna', body);
      }
      const handled = new Map<string, unknown[]>(chatIds.map((chatId) => [chatId, []]));
      const isAlive = await survives(
        (async () => {
          for (const { chatId, messages } of await dying.pull('ben', { limit: 2 })) {
            for (const { body } of messages) handled.get(chatId)!.push(body);
            await dying.ack(chatId, 'ben', messages.at(-1)!.id);
          }
        })(),
      );
      for (const { chatId, messages, ackedId } of await chats.pull('ben')) {
        expect(handled.get(chatId)!.length).toBeGreaterThanOrEqual(ackedId);
        // A repeated message was handled before, but not acked.
        expect(messages.map(({ body }) => body)).toEqual([1, 2, 3].slice(ackedId));
        handled.get(chatId)!.splice(ackedId, Infinity, ...messages.map(({ body }) => body));
        await chats.ack(chatId, 'ben', 3);
      }
      for (const bodies of handled.values()) expect(bodies).toEqual([1, 2, 3]);
      for (const chatId of chatIds) expect(await chats.history(chatId)).toEqual([]);
      return isAlive;
    });
  });

  test('autoAck: the cursor is where it was, or behind what was read, chat by chat', async () => {
    await dieEverywhere(async (death) => {
      const { chats, dying } = await both(death);
      const chatIds = ['c1', 'c2', 'c3'];
      for (const chatId of chatIds) {
        await chats.create({ sender: 'anna', members: ['ben'], chatId });
        for (const body of [1, 2, 3]) await chats.post(chatId, 'anna', body);
      }
      const isAlive = await survives(dying.pull('ben', { limit: 2, autoAck: true }));
      const cursors = (await chats.chatsOf('ben')).map(({ ackedId }) => ackedId);
      expect(isAlive ? cursors : [2, 2, 2]).toEqual([2, 2, 2]);
      for (const cursor of cursors) expect([0, 2]).toContain(cursor);
      expect(bodiesOf(await chats.pull('ben', { autoAck: true }))).toEqual(
        cursors.map((cursor) => [1, 2, 3].slice(cursor)),
      );
      for (const chatId of chatIds) expect(await chats.history(chatId)).toEqual([]);
      return isAlive;
    });
  });
});
