import { expect, test } from '@jest/globals';
import { Mailboxes } from '@mortise/messaging';
import type { SendResult } from '@mortise/messaging';
import { connect, freshPrefix } from '@mortise/test-kit';
import * as fc from 'fast-check';
import { MailboxModel } from './mailbox-model.js';
import type { Sent } from './mailbox-model.js';

const redis = connect();
const MAX_MESSAGES = 6;
const HOUR_MS = 3_600_000;

const anyDevice = fc.constantFrom('main', 'phone', 'tv');
const name = fc.constantFrom('anna', 'joe');
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('send' as const),
      messages: fc.array(
        fc.record({
          from: name,
          id: fc.option(fc.constantFrom('x', 'y', 'z'), { nil: undefined }),
          expires: fc.boolean(),
        }),
        { minLength: 1, maxLength: 5 },
      ),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('ack' as const),
      device: anyDevice,
      ahead: fc.integer({ min: -3, max: 8 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('clear' as const), device: anyDevice }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('receive' as const),
      device: anyDevice,
      limit: fc.integer({ min: 1, max: 8 }),
      order: fc.constantFrom('oldest' as const, 'latest' as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('expire' as const), share: fc.nat(4) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('addDevice' as const),
      device: anyDevice,
      at: fc.constantFrom('newest' as const, 'oldest' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('removeDevice' as const), device: anyDevice }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('block' as const), name, isBlock: fc.boolean() }),
  },
);

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** A mailbox and the model of it. */
class Pair {
  readonly #prefix = freshPrefix();
  readonly mailboxes = new Mailboxes<number>(redis, { prefix: this.#prefix, maxMessages: MAX_MESSAGES });
  readonly model = new MailboxModel(MAX_MESSAGES);
  #body = 0;

  /** What a step gives, and what it should give. */
  async take(next: Step): Promise<[unknown, unknown]> {
    const { mailboxes, model } = this;
    switch (next.type) {
      case 'send':
        return this.#send(next.messages);
      case 'ack': {
        const upToId = Math.max(0, (model.devices.get(next.device) ?? 0) + next.ahead);
        return [
          await codeOf(mailboxes.ack('jack', upToId, { device: next.device })),
          model.ack(next.device, upToId),
        ];
      }
      case 'clear':
        return [
          await codeOf(mailboxes.clear('jack', { device: next.device })),
          model.ack(next.device, 'all'),
        ];
      case 'receive':
        return [
          await codeOf(mailboxes.receive('jack', next)),
          model.receive(next.device, next.limit, next.order),
        ];
      case 'expire':
        return this.#expire(next.share);
      case 'addDevice':
        return [await mailboxes.addDevice('jack', next.device, next), model.addDevice(next.device, next.at)];
      case 'removeDevice':
        return [await mailboxes.removeDevice('jack', next.device), model.removeDevice(next.device)];
      case 'block':
      default:
        return this.#block(next.name, next.isBlock);
    }
  }

  /** All that can be seen of the mailbox. */
  async compare(): Promise<void> {
    const { mailboxes, model } = this;
    expect(await mailboxes.status('jack')).toMatchObject(model.status());
    for (const device of model.devices.keys()) {
      const messages = await mailboxes.receive('jack', { device, limit: 1_000 });
      expect(messages).toEqual(model.receive(device, 1_000, 'oldest'));
      expect(await mailboxes.unread('jack', { device })).toBe(messages.length);
    }
    const expiring = await redis.zcard(`${this.#prefix}:messaging:{jack}:mailbox-expiring`);
    expect(expiring).toBe(model.expiring.length);
  }

  async #send(messages: readonly Omit<Sent, 'body'>[]): Promise<[unknown, unknown]> {
    const sent = messages.map((message) => ({ ...message, body: (this.#body += 1) }));
    const results = await Promise.all(
      sent.map(({ body, from, id, expires }) =>
        codeOf(
          this.mailboxes.send('jack', body, {
            from,
            ...(id !== undefined && { id }),
            ...(expires && { ttlMs: HOUR_MS }),
          }),
        ),
      ),
    );
    return [results, this.model.send(sent)];
  }

  /** As when the time of some messages is over. */
  async #expire(share: number): Promise<[unknown, unknown]> {
    const ids = this.model.expiring.filter((id) => id % 5 <= share);
    const key = `${this.#prefix}:messaging:{jack}:mailbox-expiring`;
    for (const id of ids) await redis.zadd(key, 'XX', 1, id);
    this.model.expire(ids);
    return [undefined, undefined];
  }

  async #block(sender: string, isBlock: boolean): Promise<[unknown, unknown]> {
    const { mailboxes, model } = this;
    const wasBlocked = model.blocked.has(sender);
    if (isBlock) model.blocked.add(sender);
    else model.blocked.delete(sender);
    const changed = await (isBlock ? mailboxes.block('jack', sender) : mailboxes.unblock('jack', sender));
    return [changed, wasBlocked !== isBlock];
  }
}

async function codeOf<Value>(call: Promise<Value>): Promise<Value | string> {
  return call.catch((error: { code: string }) => error.code);
}

test('behaves like arrays with cursors, whatever is sent in one tick', async () => {
  const property = fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
    const pair = new Pair();
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
