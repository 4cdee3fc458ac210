/** Random calls, and the results of small models in memory. */
import { expect, test } from '@jest/globals';
import { Chats, Mailboxes } from '@mortise/messaging';
import type { SendResult } from '@mortise/messaging';
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
import { MailboxPair, mailboxStep } from './fixture/mailbox-pair.js';
import { pullSteps, PullWorld } from './fixture/pull-world.js';
import { describeOnBoth } from './fixture/topologies.js';

describeOnBoth((redis, another) => {
  test('any sequence of calls of a chat has the results of one in memory', async () => {
    const first: ChatStep = { type: 'create', who: 'anna', members: ['bob'], hasBody: false };
    await fc.assert(
      fc.asyncProperty(
        fc.array(operation, { minLength: 10, maxLength: 40 }),
        fc.constantFrom(0, 2),
        async (steps, keepAcked) => {
          const prefix = freshPrefix();
          const chats = new Chats<number>(redis, { prefix, maxMessages: MAX_MESSAGES, keepAcked });
          const model = new ChatModel(keepAcked);
          let body = 0;
          for (const step of [first, ...steps]) {
            body += 1;
            const { lastId } = model;
            const expected = expectation(step, model, body);
            expect([step, await take(step, chats, lastId, body)]).toEqual([step, expected]);
            await compareChat(redis, prefix, model);
          }
        },
      ),
      { numRuns: 25 },
    );
  });

  test('calls of a chat by many clients in one tick come out as some order of them: ids dense, nothing twice', async () => {
    const call = fc.record({
      who: fc.nat(3),
      type: fc.constantFrom('post', 'ack', 'leave', 'join'),
      client: fc.nat(1),
    });
    const other = await another();
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 5, maxLength: 80 }), async (steps) => {
        const prefix = freshPrefix();
        const clients = [redis, other].map((client) => new Chats<number>(client, { prefix }));
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
        const { lastId, entries, bytes, storedBytes } = await describeChat(redis, prefix, CHAT);
        expect(ids).toEqual(ids.map((_, n) => n + 1));
        // The keeper acks nothing, so everything is there.
        expect(entries.map(({ id }) => id)).toEqual(ids);
        expect(entries.map(({ id, body }) => posted[body as number] === id)).toEqual(ids.map(() => true));
        expect({ lastId, bytes }).toEqual({ lastId: ids.length, bytes: storedBytes });
      }),
      { numRuns: 15 },
    );
  });

  test('pulls with any bound return what waits, in order, and as much as fits', async () => {
    const property = fc.asyncProperty(pullSteps, async (life) => new PullWorld(redis).live(life));
    await fc.assert(property, { numRuns: 30 });
    expect(redis.status).toBe('ready');
  });

  test('a mailbox behaves like arrays with cursors, for any calls of one tick', async () => {
    const property = fc.asyncProperty(fc.array(mailboxStep, { maxLength: 20 }), async (steps) => {
      const pair = new MailboxPair(redis, freshPrefix());
      for (const next of steps) {
        const [got, wanted] = await pair.take(next);
        expect(got).toEqual(wanted);
        await pair.compare();
      }
    });
    await fc.assert(property, { numRuns: 25 });
  });

  test('a mailbox loses and reorders nothing between senders and a receiver that run at once', async () => {
    const property = fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 20 }),
      async (counts, limit) => {
        const prefix = freshPrefix();
        const senders = counts.map(async (count, sender) => {
          const mailboxes = new Mailboxes<number>(redis, { prefix });
          for (let body = 0; body < count; body += 1) {
            const send = (): Promise<SendResult> =>
              mailboxes.send('jack', body, { from: `sender ${sender}`, id: `${sender} ${body}` });
            // Every third one is sent twice, as after a lost reply.
            const [first, ...again] = await Promise.all(body % 3 === 0 ? [send(), send()] : [send()]);
            expect(again).toEqual(again.map(() => ({ ...first, isDuplicate: true })));
          }
        });
        const total = counts.reduce((sum, count) => sum + count, 0);
        const received: { id: number; from: string; body: number }[] = [];
        const mailboxes = new Mailboxes<number>(redis, { prefix });
        while (received.length < total) {
          const messages = await mailboxes.receive('jack', { limit, waitMs: 20_000 });
          expect(messages.length).toBeGreaterThan(0);
          received.push(...messages);
          await mailboxes.ack('jack', messages.at(-1)!.id);
        }
        await Promise.all(senders);
        expect(received.map(({ id }) => id)).toEqual(Array.from({ length: total }, (_, index) => index + 1));
        for (const [sender, count] of counts.entries()) {
          const bodies = received.filter(({ from }) => from === `sender ${sender}`).map(({ body }) => body);
          expect(bodies).toEqual(Array.from({ length: count }, (_, body) => body));
        }
        expect(await mailboxes.status('jack')).toMatchObject({ unread: 0, ackedId: total, lastId: total });
      },
    );
    await fc.assert(property, { numRuns: 25 });
  });
});
