/**
 * The defects of the algorithm that chats take the place of (Redis in Action, 6.5, as published): each has a test of its name
 * here, on both topologies, or in another file, which the last test looks after. D1, D3 to D8 and D15 to D20 are of files, not of chats.
 *
 * | | Defect |
 * |---|---|
 * | D2 | who only posts is a member whose cursor never moves: nothing is trimmed, and keys remain after the end |
 * | D9 | joining again resets the cursor; joining an unknown chat fails half-way |
 * | D10 | posts of non-members and to chats that have ended make orphan keys |
 * | D11 | a fetch that races with leaving adds the member again: a ghost, and nothing is trimmed any more |
 * | D12 | a join that races with the last leave: ids begin below the cursor, and new messages are not seen |
 * | D13 | a sender who dies with the lock stops the chat for ever |
 * | D14 | who ends in the middle of a batch loses the rest of it, as the cursor has moved at the fetch |
 * | D21 | a sender's own messages are pending for the sender, and not trimmed |
 * | D22 | a fetch has no limit |
 * | D23 | two fetches of a member move the cursor back |
 * | D24 | a transaction names keys of several slots, which Cluster refuses |
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { Chats, NotAllowedError, UnknownIdError } from '@mortise/messaging';
import type { Pulled } from '@mortise/messaging';
import { freshPrefix, until } from '@mortise/test-kit';
import { chatAck } from '../src/scripts.gen.js';
import type { Death } from './fixture/stepwise-client.js';
import { DeathError, dieEverywhere, mortal, stepwise } from './fixture/stepwise-client.js';
import { describeOnBoth, nodesOf } from './fixture/topologies.js';
import { expectRefusal } from './fixture/outcomes.js';

/** In one tick: m1, m2 and so on. */
async function postMany(chats: Chats, chatId: string, sender: string, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, index) => chats.post(chatId, sender, `m${index + 1}`)));
}

const bodiesOf = (pulled: readonly Pulled[]): unknown[][] =>
  pulled.map(({ messages }) => messages.map(({ body }) => body));

describeOnBoth((redis, another) => {
  test('D13: a sender who hangs in the middle of a post delays nobody', async () => {
    const prefix = freshPrefix();
    const chats = new Chats(redis, { prefix });
    await chats.create({ chatId: 'c', sender: 'anna', members: ['ben'] });
    // The post arrives as a whole or not at all: there is no step in which it could hang.
    const hanging = await another();
    const posted = new Chats(hanging, { prefix }).post('c', 'anna', 'slow');
    for (const { stream } of nodesOf(hanging)) stream.pause();
    for (const body of [1, 2, 3]) await chats.post('c', 'ben', body);
    const [pulled] = await chats.pull('anna');
    const bodies = pulled!.messages.map(({ body }) => body).filter((body) => body !== 'slow');
    expect(bodies).toEqual([1, 2, 3]);
    for (const { stream } of nodesOf(hanging)) stream.resume();
    const { id } = await posted;
    expect((await chats.history('c')).find((message) => message.id === id)).toMatchObject({ body: 'slow' });
  });

  describe('D14: a member whose process ends within a batch gets the others later', () => {
    test('having pulled it', async () => {
      const chats = new Chats(redis, { prefix: freshPrefix() });
      await chats.create({ chatId: 'c', sender: 'anna', members: ['ben'] });
      for (let n = 1; n <= 10; n += 1) await chats.post('c', 'anna', n);
      const handled: unknown[] = [];
      for (const stopAt of [3, 7, 10]) {
        const [pulled] = await chats.pull('ben');
        for (const { id, body } of pulled!.messages) {
          handled.push(body);
          await chats.ack('c', 'ben', id, { epoch: pulled!.epoch });
          if (id === stopAt) break;
        }
      }
      expect(handled).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
      expect(await chats.pull('ben')).toEqual([]);
    });

    test('having followed it, with and without a token', async () => {
      const chats = new Chats(redis, { prefix: freshPrefix() });
      await chats.create({ chatId: 'c', sender: 'anna', members: ['ben'] });
      for (let n = 1; n <= 10; n += 1) await chats.post('c', 'anna', n);
      const handled: unknown[] = [];
      async function handle(stopAt: number, after?: string): Promise<string> {
        for await (const event of chats.follow('ben', after === undefined ? {} : { after })) {
          if (event.type !== 'message') continue;
          handled.push(event.message.body);
          if (event.message.id === stopAt) return event.token;
        }
        throw new Error('the follower has ended');
      }
      const token = await handle(3);
      await handle(7, token);
      await chats.ack('c', 'ben', 7);
      await handle(10);
      expect(handled).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    });
  });

  test('D10: a post of no member, or to a chat that is unknown or has ended, is refused, and no key comes of it', async () => {
    const prefix = freshPrefix();
    const chats = new Chats(redis, { prefix });
    await chats.create({ chatId: 'c', sender: 'anna', members: [] });
    const keys = async (): Promise<string[]> => {
      const all = await Promise.all(nodesOf(redis).map((node) => node.keys(`${prefix}:*`)));
      return all.flat().toSorted();
    };
    const before = await keys();
    await expect(chats.post('c', 'eve', 1)).rejects.toBeInstanceOf(NotAllowedError);
    await expectRefusal(chats.post('c', 'eve', 1), 'ERR_NOT_A_MEMBER', { chatId: 'c', member: 'eve' });
    await expectRefusal(chats.post('other', 'anna', 1), 'ERR_UNKNOWN_CHAT', { chatId: 'other' });
    expect(await keys()).toEqual(before);
    await chats.leave('c', 'anna');
    await expect(chats.post('c', 'anna', 1)).rejects.toBeInstanceOf(UnknownIdError);
    await expectRefusal(chats.post('c', 'eve', 1), 'ERR_UNKNOWN_CHAT', { chatId: 'c' });
    expect(await keys()).toEqual(['ended', 'left'].map((part) => `${prefix}:messaging:{c}:${part}`));
  });

  test('D11: a pull that acks while its member leaves adds nobody, and the log is trimmed', async () => {
    const prefix = freshPrefix();
    const chats = new Chats(redis, { prefix });
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
    for (let round = 0; round < 30; round += 1) {
      await chats.join(chatId, 'ben');
      await chats.post(chatId, 'anna', round);
      await Promise.all([chats.pull('ben', { autoAck: true }), chats.leave(chatId, 'ben')]);
      const { members } = await chats.members(chatId);
      expect(members.map(({ member }) => member)).toEqual(['anna']);
      expect(await redis.llen(`${prefix}:messaging:{${chatId}}:log`)).toBe(0);
    }
  });

  test('D12: a join of a chat that ends meanwhile is refused; a later chat of its name begins anew', async () => {
    const chats = new Chats(redis, { prefix: freshPrefix() });
    for (let round = 0; round < 20; round += 1) {
      const { chatId } = await chats.create({ sender: 'anna', members: [], body: 'old' });
      const [joined] = await Promise.allSettled([chats.join(chatId, 'ben'), chats.leave(chatId, 'anna')]);
      const isDead = joined.status === 'rejected';
      expect(isDead && (joined.reason as { code: string }).code).toBe(isDead && 'ERR_UNKNOWN_CHAT');
      expect(await chats.chatsOf('ben')).toHaveLength(isDead ? 0 : 1);
      if (isDead) await chats.create({ sender: 'anna', members: ['ben'], chatId });
      else await chats.join(chatId, 'anna');
      await postMany(chats, chatId, 'anna', 4);
      const [chat] = await chats.pull('ben');
      expect(chat?.messages.map(({ body }) => body)).toEqual(['m1', 'm2', 'm3', 'm4']);
      await chats.leave(chatId, 'ben');
    }
  });

  test('D12: a pull that acks does not ack in a chat of the same name that was created meanwhile', async () => {
    const prefix = freshPrefix();
    const chats = new Chats(redis, { prefix });
    const found = async (): Promise<void> => {
      await chats.create({ chatId: 'c', sender: 'anna', members: ['ben'], body: 1 });
      await chats.post('c', 'anna', 2);
    };
    await found();
    await chats.ack('c', 'ben', 1);
    let acks = 0;
    const between = stepwise(redis, async (_, send, [, sha1]) => {
      if (sha1 === chatAck.sha1) {
        acks += 1;
        for (const member of ['anna', 'ben']) await chats.leave('c', member);
        await found();
      }
      return send();
    });
    const pulled = await new Chats(between, { prefix }).pull('ben', { autoAck: true });
    expect(pulled).toMatchObject([{ chatId: 'c', messages: [{ id: 2 }] }]);
    expect(acks).toBe(1);
    expect(await chats.pull('ben')).toMatchObject([{ ackedId: 0, messages: [{ id: 1 }, { id: 2 }] }]);
  });

  test('D23: two pulls of a member that ack at once never move a cursor back', async () => {
    const chats = new Chats(redis, { prefix: freshPrefix() });
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
    let highest = 0;
    for (let round = 0; round < 20; round += 1) {
      await postMany(chats, chatId, 'anna', 5);
      const pulls = [1, 3, 100].map((limit) => chats.pull('ben', { limit, autoAck: true }));
      const cursors = async (): Promise<void> => {
        const { members } = await chats.members(chatId);
        const ben = members.find(({ member }) => member === 'ben')!;
        expect(ben.ackedId).toBeGreaterThanOrEqual(highest);
        highest = ben.ackedId;
      };
      await Promise.all([...pulls, cursors(), cursors()]);
      await cursors();
    }
    await chats.pull('ben', { autoAck: true });
    expect(await chats.pull('ben')).toEqual([]);
    expect(await chats.ack(chatId, 'ben', 1)).toBe(100);
  });

  /**
   * A change of two slots has steps, each of them one script. Here its process dies before each, and between the execution of
   * each and the reply. Another process then finds all or nothing of it, repeats it, and it is whole.
   */
  describe('a process that dies at a step of', () => {
    const MEMBERS = ['anna', 'ben', 'cleo'];

    /** The same chats for one who will die and one who lives on; the scripts are known, so steps are countable. */
    async function both(death: Death) {
      const prefix = freshPrefix();
      const dying = new Chats(mortal(redis, death), { prefix });
      const chats = new Chats(redis, { prefix });
      const indexOf = (member: string): string => `${prefix}:messaging:{${member}}:chats`;
      return {
        chats,
        dying,
        indexed: (member: string) => redis.zcard(indexOf(member)),
        /** A reader removes useless entries once they are old. */
        expectForgotten: async (member: string) => {
          const indexed = (await redis.call('zrange', [indexOf(member), 0, -1])) as string[];
          for (const chat of indexed) await redis.call('zadd', [indexOf(member), 1, chat]);
          expect(await chats.pull(member)).toEqual([]);
          await until('the cleaning', async () => (await redis.zcard(indexOf(member))) === 0);
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
        const chats = new Chats(redis, { prefix: freshPrefix() });
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
        await expectRefusal(chats.history('c'), 'ERR_UNKNOWN_CHAT');
        await expectRefusal(chats.join('c', 'ben'), 'ERR_UNKNOWN_CHAT');
        await expectRefusal(chats.post('c', 'anna', 'y'), 'ERR_UNKNOWN_CHAT');
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
});

test('each defect has a test', () => {
  const sources = readdirSync(import.meta.dirname, { encoding: 'utf8', recursive: true })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => readFileSync(join(import.meta.dirname, file), 'utf8'));
  const named = new Set(
    sources.flatMap((source) =>
      [...source.matchAll(/(?:test|describe)\(\s*(?:'|"|`)(D\d+): /g)].map(([, defect]) => defect!),
    ),
  );
  const [table = ''] = sources.find((source) => source.includes('each defect has a test'))!.split('*/');
  const listed = [...table.matchAll(/^ \* \| (D\d+) \|/gm)].map(([, defect]) => defect!);
  expect(listed).toHaveLength(11);
  expect(listed.filter((defect) => !named.has(defect))).toEqual([]);
});
