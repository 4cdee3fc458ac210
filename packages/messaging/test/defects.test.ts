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
import { describe, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import type { Pulled } from '@mortise/messaging';
import type { CommandArgument } from '@mortise/redis';
import { freshPrefix } from '@mortise/test-kit';
import { chatAck } from '../src/scripts.gen.js';
import { describeOnBoth, nodesOf } from './fixture/topologies.js';

/** In one tick: m1, m2 and so on. */
async function postMany(chats: Chats, chatId: string, sender: string, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, index) => chats.post(chatId, sender, `m${index + 1}`)));
}

const bodiesOf = (pulled: readonly Pulled[]): unknown[][] =>
  pulled.map(({ messages }) => messages.map(({ body }) => body));

describeOnBoth((redis, another) => {
  test('D13: a sender who hangs in the middle of a post delays nobody', async () => {
    const prefix = freshPrefix();
    const chats = new Chats(redis(), { prefix });
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
      const chats = new Chats(redis(), { prefix: freshPrefix() });
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
      const chats = new Chats(redis(), { prefix: freshPrefix() });
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

  test('D10: a post of no member, or to a chat that has ended, is refused, and no key comes of it', async () => {
    const prefix = freshPrefix();
    const chats = new Chats(redis(), { prefix });
    await chats.create({ chatId: 'c', sender: 'anna', members: [] });
    const keys = async (): Promise<string[]> =>
      (await Promise.all(nodesOf(redis()).map((node) => node.keys(`${prefix}:*{c}:*`)))).flat();
    const before = await keys();
    await expect(chats.post('c', 'eve', 1)).rejects.toMatchObject({ code: 'ERR_NOT_A_MEMBER' });
    expect(await keys()).toEqual(before);
    await chats.leave('c', 'anna');
    for (const sender of ['anna', 'eve'])
      await expect(chats.post('c', sender, 1)).rejects.toMatchObject({ code: 'ERR_UNKNOWN_CHAT' });
    expect((await keys()).toSorted()).toEqual(
      ['ended', 'left'].map((part) => `${prefix}:messaging:{c}:${part}`),
    );
  });

  test('D9: a member joins after the newest message, and a second join loses nothing', async () => {
    const chats = new Chats(redis(), { prefix: freshPrefix() });
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'], body: 'before' });
    expect(await chats.join(chatId, 'cleo')).toEqual({ isNew: true, ackedId: 1 });
    expect(await chats.pull('cleo')).toEqual([]);
    await chats.post(chatId, 'anna', 'after');
    expect(await chats.join(chatId, 'cleo')).toEqual({ isNew: false, ackedId: 1 });
    expect(bodiesOf(await chats.pull('cleo'))).toEqual([['after']]);
    expect(bodiesOf(await chats.pull('ben'))).toEqual([['before', 'after']]);
  });

  test('D11: a pull that acks while its member leaves adds nobody, and the log is trimmed', async () => {
    const prefix = freshPrefix();
    const chats = new Chats(redis(), { prefix });
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
    for (let round = 0; round < 30; round += 1) {
      await chats.join(chatId, 'ben');
      await chats.post(chatId, 'anna', round);
      await Promise.all([chats.pull('ben', { autoAck: true }), chats.leave(chatId, 'ben')]);
      const { members } = await chats.members(chatId);
      expect(members.map(({ member }) => member)).toEqual(['anna']);
      expect(await redis().llen(`${prefix}:messaging:{${chatId}}:log`)).toBe(0);
    }
  });

  test('D12: a join of a chat that ends meanwhile is refused; a later chat of its name begins anew', async () => {
    const chats = new Chats(redis(), { prefix: freshPrefix() });
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
    const chats = new Chats(redis(), { prefix });
    const found = async (): Promise<void> => {
      await chats.create({ chatId: 'c', sender: 'anna', members: ['ben'], body: 1 });
      await chats.post('c', 'anna', 2);
    };
    await found();
    await chats.ack('c', 'ben', 1);
    let acks = 0;
    const between = new Proxy(redis(), {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (name !== 'call') return typeof value === 'function' ? value.bind(target) : value;
        return async (command: string, args: CommandArgument[]): Promise<unknown> => {
          if (args[0] === chatAck.sha1) {
            acks += 1;
            for (const member of ['anna', 'ben']) await chats.leave('c', member);
            await found();
          }
          return target.call(command, args);
        };
      },
    });
    const pulled = await new Chats(between, { prefix }).pull('ben', { autoAck: true });
    expect(pulled).toMatchObject([{ chatId: 'c', messages: [{ id: 2 }] }]);
    expect(acks).toBe(1);
    expect(await chats.pull('ben')).toMatchObject([{ ackedId: 0, messages: [{ id: 1 }, { id: 2 }] }]);
  });

  test('D21: an own message in a chat without unread ones is not unread', async () => {
    const chats = new Chats(redis(), { prefix: freshPrefix() });
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'], body: 'x' });
    expect(await chats.pull('anna')).toEqual([]);
    await chats.ack(chatId, 'ben', 1);
    await chats.post(chatId, 'ben', 'y');
    expect(await chats.pull('ben')).toEqual([]);
    expect(bodiesOf(await chats.pull('anna'))).toEqual([['y']]);
  });

  test('D22: gives at most `limit` messages of each chat, from the oldest; acking goes on to the next', async () => {
    const chats = new Chats(redis(), { prefix: freshPrefix() });
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
    await postMany(chats, chatId, 'anna', 7);
    const seen: unknown[] = [];
    const unreads: number[] = [];
    for (;;) {
      const [chat] = await chats.pull('ben', { limit: 3 });
      if (!chat) break;
      expect(chat.messages.length).toBeLessThanOrEqual(3);
      expect(chat.lastId).toBe(7);
      unreads.push(chat.unread);
      seen.push(...chat.messages.map(({ body }) => body));
      await chats.ack(chatId, 'ben', chat.messages.at(-1)!.id);
    }
    expect(seen).toEqual(['m1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7']);
    expect(unreads).toEqual([7, 4, 1]);
  });

  test('D23: two pulls of a member that ack at once never move a cursor back', async () => {
    const chats = new Chats(redis(), { prefix: freshPrefix() });
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
