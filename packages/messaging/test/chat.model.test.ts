import { expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import { freshPrefix } from '@mortise/test-kit';
import * as fc from 'fast-check';
import {
  CHAT,
  ChatModel,
  compareChat,
  expectation,
  MAX_MESSAGES,
  operation,
  take,
} from './fixture/chat-model.js';
import type { ChatStep } from './fixture/chat-model.js';
import { describeChat } from './fixture/chat-state.js';
import { describeOnBoth } from './fixture/topologies.js';

describeOnBoth((redis, another) => {
  test('any sequence of calls has the results of a chat in memory', async () => {
    const first: ChatStep = { type: 'create', who: 'anna', members: ['bob'], hasBody: false };
    await fc.assert(
      fc.asyncProperty(
        fc.array(operation, { minLength: 10, maxLength: 40 }),
        fc.constantFrom(0, 2),
        async (steps, keepAcked) => {
          const prefix = freshPrefix();
          const chats = new Chats<number>(redis(), { prefix, maxMessages: MAX_MESSAGES, keepAcked });
          const model = new ChatModel(keepAcked);
          let body = 0;
          for (const step of [first, ...steps]) {
            body += 1;
            const { lastId } = model;
            const expected = expectation(step, model, body);
            expect([step, await take(step, chats, lastId, body)]).toEqual([step, expected]);
            await compareChat(redis(), prefix, model);
          }
        },
      ),
      { numRuns: 25 },
    );
  }, 60_000);

  test('calls of many clients in one tick come out as some order of them: ids dense, nothing twice', async () => {
    const call = fc.record({
      who: fc.nat(3),
      type: fc.constantFrom('post', 'ack', 'leave', 'join'),
      client: fc.nat(1),
    });
    const other = await another();
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 5, maxLength: 80 }), async (steps) => {
        const prefix = freshPrefix();
        const clients = [redis(), other].map((client) => new Chats<number>(client, { prefix }));
        await clients[0]!.create({ chatId: CHAT, sender: 'keeper', members: ['m0', 'm1'] });
        const refusals = new Set<string>();
        const posted = await Promise.all(
          steps.map(async ({ who: n, type, client }, index) => {
            const chats = clients[client]!;
            try {
              if (type === 'post') return (await chats.post(CHAT, `m${n}`, index)).id;
              if (type === 'ack') await chats.ack(CHAT, `m${n}`, 1);
              if (type === 'leave') await chats.leave(CHAT, `m${n}`);
              if (type === 'join') await chats.join(CHAT, `m${n}`);
            } catch (error) {
              refusals.add((error as { code: string }).code);
            }
            return undefined;
          }),
        );
        expect(['ERR_NOT_A_MEMBER', 'ERR_UNKNOWN_MESSAGE']).toEqual(expect.arrayContaining([...refusals]));
        const ids = posted.filter((id) => id !== undefined).toSorted((a, b) => a - b);
        const { lastId, entries, bytes, storedBytes } = await describeChat(redis(), prefix, CHAT);
        expect(ids).toEqual(ids.map((_, n) => n + 1));
        // The keeper acks nothing, so everything is there.
        expect(entries.map(({ id }) => id)).toEqual(ids);
        expect(entries.map(({ id, body }) => posted[body as number] === id)).toEqual(ids.map(() => true));
        expect({ lastId, bytes }).toEqual({ lastId: ids.length, bytes: storedBytes });
      }),
      { numRuns: 15 },
    );
  }, 60_000);
});
