/** A mailbox and the model of it, and the steps that both take. */
import { expect } from '@jest/globals';
import { Mailboxes } from '@mortise/messaging';
import * as fc from 'fast-check';
import type { Cluster, Redis } from 'ioredis';
import { MailboxModel } from './mailbox-model.js';
import type { Sent } from './mailbox-model.js';

const MAX_MESSAGES = 6;
const HOUR_MS = 3_600_000;

const anyDevice = fc.constantFrom('main', 'phone', 'tv');
const name = fc.constantFrom('anna', 'joe');
export const mailboxStep = fc.oneof(
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

export type MailboxStep = typeof mailboxStep extends fc.Arbitrary<infer Value> ? Value : never;

/** A mailbox and the model of it. */
export class MailboxPair {
  readonly mailboxes: Mailboxes<number>;
  readonly model = new MailboxModel(MAX_MESSAGES);
  readonly #redis: Redis | Cluster;
  readonly #prefix: string;
  #body = 0;

  constructor(redis: Redis | Cluster, prefix: string) {
    this.#redis = redis;
    this.#prefix = prefix;
    this.mailboxes = new Mailboxes<number>(redis, { prefix, maxMessages: MAX_MESSAGES });
  }

  /** The result of a step, and the expected one. */
  async take(next: MailboxStep): Promise<[unknown, unknown]> {
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
          await codeOf(
            mailboxes.receive('jack', { device: next.device, limit: next.limit, order: next.order }),
          ),
          model.receive(next.device, next.limit, next.order),
        ];
      case 'expire':
        return this.#expire(next.share);
      case 'addDevice':
        return [
          await mailboxes.addDevice('jack', next.device, { at: next.at }),
          model.addDevice(next.device, next.at),
        ];
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
    const expiring = await this.#redis.zcard(`${this.#prefix}:messaging:{jack}:mailbox-expiring`);
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
    for (const id of ids) await this.#redis.zadd(key, 'XX', 1, id);
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
