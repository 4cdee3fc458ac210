import { expect, test } from '@jest/globals';
import { Mailboxes } from '@mortise/messaging';
import type { SendResult } from '@mortise/messaging';
import { freshPrefix } from '@mortise/test-kit';
import * as fc from 'fast-check';
import { MailboxPair, mailboxStep } from './mailbox-pair.js';
import { describeOnBoth } from '../fixture/topologies.js';

describeOnBoth((redis) => {
  test('behaves like arrays with cursors, for any calls of one tick', async () => {
    const property = fc.asyncProperty(fc.array(mailboxStep, { maxLength: 20 }), async (steps) => {
      const pair = new MailboxPair(redis(), freshPrefix());
      for (const next of steps) {
        const [got, wanted] = await pair.take(next);
        expect(got).toEqual(wanted);
        await pair.compare();
      }
    });
    await fc.assert(property, { numRuns: 25 });
  });

  test('loses and reorders nothing between senders and a receiver that run at once', async () => {
    const property = fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 20 }),
      async (counts, limit) => {
        const prefix = freshPrefix();
        const senders = counts.map(async (count, sender) => {
          const mailboxes = new Mailboxes<number>(redis(), { prefix });
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
        const mailboxes = new Mailboxes<number>(redis(), { prefix });
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
