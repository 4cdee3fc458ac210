import { expect, test } from '@jest/globals';
import { Mailboxes } from '@mortise/messaging';
import type { IdRange, SendResult } from '@mortise/messaging';
import { connect, freshPrefix } from '@mortise/test-kit';
import * as fc from 'fast-check';

const redis = connect();
const MAX_MESSAGES = 6;

/** A mailbox in memory: what the scripts do, with arrays. */
class Model {
  stored: { id: number; body: number }[] = [];
  readonly ids = new Map<string, number>();
  lastId = 0;
  ackedId = 0;

  send(body: number, senderId: string | undefined): SendResult {
    const known = senderId === undefined ? undefined : this.ids.get(senderId);
    if (known !== undefined) return { id: known, isDuplicate: true };
    this.lastId += 1;
    const { lastId: id } = this;
    if (senderId !== undefined) this.ids.set(senderId, id);
    this.stored.push({ id, body });
    if (this.stored.length <= MAX_MESSAGES) return { id, isDuplicate: false };
    const dropped = this.stored.shift()!.id;
    return { id, isDuplicate: false, dropped: { fromId: dropped, toId: dropped } };
  }

  ack(upToId: number): number | string {
    if (upToId > this.lastId) return 'ERR_UNKNOWN_MESSAGE';
    const before = this.stored.length;
    this.stored = this.stored.filter(({ id }) => id > upToId);
    this.ackedId = Math.max(this.ackedId, upToId);
    return before - this.stored.length;
  }

  get dropped(): IdRange | null {
    const toId = this.lastId - this.stored.length;
    return toId > this.ackedId ? { fromId: this.ackedId + 1, toId } : null;
  }

  receive(limit: number, order: 'oldest' | 'latest'): object[] {
    const all = this.stored.map((message, index) => ({
      ...message,
      from: 'anna',
      sentAt: expect.any(Number),
      ...(index === 0 && this.dropped && { droppedBefore: this.dropped }),
    }));
    return order === 'oldest' ? all.slice(0, limit) : all.slice(-limit).toReversed();
  }
}

const operation = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant('send' as const),
      id: fc.option(fc.constantFrom('x', 'y', 'z')),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('ack' as const), ahead: fc.integer({ min: -3, max: 8 }) }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('clear' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('receive' as const),
      limit: fc.integer({ min: 1, max: 8 }),
      order: fc.constantFrom('oldest' as const, 'latest' as const),
    }),
  },
);

type Step = typeof operation extends fc.Arbitrary<infer Value> ? Value : never;

/** What a step gives, and what it should give. */
async function take(step: Step, mailboxes: Mailboxes<number>, model: Model): Promise<[unknown, unknown]> {
  if (step.type === 'ack') {
    const upToId = Math.max(0, model.ackedId + step.ahead);
    const freed = await mailboxes.ack('jack', upToId).catch((error: { code: string }) => error.code);
    return [freed, model.ack(upToId)];
  }
  if (step.type === 'clear') return [await mailboxes.clear('jack'), model.ack(model.lastId)];
  if (step.type === 'receive') {
    return [await mailboxes.receive('jack', step), model.receive(step.limit, step.order)];
  }
  // Sent already, with the others of its tick.
  return [undefined, undefined];
}

test('behaves like an array with a cursor, whatever is sent in one tick', async () => {
  const ticks = fc.array(fc.array(operation, { maxLength: 5 }), { maxLength: 10 });
  const property = fc.asyncProperty(ticks, async (all) => {
    const mailboxes = new Mailboxes<number>(redis, { prefix: freshPrefix(), maxMessages: MAX_MESSAGES });
    const model = new Model();
    let body = 0;
    for (const tick of all) {
      // What is sent in one tick goes as one batch; the rest comes after it, one by one.
      const sends = tick
        .filter((step) => step.type === 'send')
        .map(({ id }) => ({ recipient: 'jack', body: (body += 1), from: 'anna', ...(id && { id }) }));
      const results = await mailboxes.sendMany(sends);
      expect(results).toEqual(sends.map((send) => model.send(send.body, send.id)));
      for (const step of tick) {
        const [got, wanted] = await take(step, mailboxes, model);
        expect(got).toEqual(wanted);
        const status = await mailboxes.status('jack');
        expect(status).toMatchObject({
          unread: model.stored.length,
          size: model.stored.length,
          lastId: model.lastId,
          ackedId: model.ackedId,
          dropped: model.dropped,
        });
        expect(await mailboxes.receive('jack', { limit: 1_000 })).toHaveLength(
          await mailboxes.unread('jack'),
        );
      }
    }
  });
  await fc.assert(property, { numRuns: 60 });
});

test('loses and reorders nothing between senders and a receiver that run at once', async () => {
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
