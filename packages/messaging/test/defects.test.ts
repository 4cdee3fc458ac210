/**
 * The defects of the algorithm that chats take the place of (Redis in Action, 6.5, as published): each has a test of its name
 * here or in another file, which the last test looks after. D1, D3 to D8 and D15 to D20 are of files, not of chats.
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
import { connect, disconnect, freshPrefix } from '@mortise/test-kit';

const redis = connect();

test('D13: a sender who hangs in the middle of a post holds up nobody else', async () => {
  const prefix = freshPrefix();
  const chats = new Chats(redis, { prefix });
  await chats.create({ chatId: 'c', sender: 'anna', members: ['ben'] });
  // Whatever of the post arrives is all of it, or nothing: there is no step in which it could hang.
  const hanging = connect();
  await hanging.ping();
  const posted = new Chats(hanging, { prefix }).post('c', 'anna', 'hung');
  hanging.stream.pause();
  for (const body of [1, 2, 3]) await chats.post('c', 'ben', body);
  const [pulled] = await chats.pull('anna');
  const bodies = pulled!.messages.map(({ body }) => body).filter((body) => body !== 'hung');
  expect(bodies).toEqual([1, 2, 3]);
  hanging.stream.resume();
  const { id } = await posted;
  expect((await chats.history('c')).find((message) => message.id === id)).toMatchObject({ body: 'hung' });
  disconnect(hanging);
});

describe('D14: who ends in the middle of a batch gets the rest of it later', () => {
  test('having pulled it', async () => {
    const chats = new Chats(redis, { prefix: freshPrefix() });
    await chats.create({ chatId: 'c', sender: 'anna', members: ['ben'] });
    for (let n = 1; n <= 10; n += 1) await chats.post('c', 'anna', n);
    const handled: unknown[] = [];
    for (const stopAt of [3, 7, 10]) {
      const [pulled] = await chats.pull('ben');
      for (const { id, body } of pulled!.messages) {
        handled.push(body);
        await chats.ack('ben', 'c', id, { epoch: pulled!.epoch });
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
    await chats.ack('ben', 'c', 7);
    await handle(10);
    expect(handled).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });
});

test('each defect has a test', () => {
  const sources = readdirSync(import.meta.dirname)
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
