import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { Claims, isEncoded, Queue } from '@mortise/queues';
import type { PayloadCodec, Task } from '@mortise/queues';
import { compression, encryption } from '@mortise/queues/codecs';
import { z } from 'zod';
import { newQueue, redis } from '../fixture/new-queue.js';
import { until } from '../fixture/until.js';

const codecs: readonly PayloadCodec[] = [
  compression(),
  encryption({ keys: { k1: randomBytes(32) }, current: 'k1' }),
];
const secret = { card: '4111-1111-1111-1111', lines: Array.from({ length: 100 }, () => 'one of many') };

/** All that Redis stores under the prefix, but for sorted sets. */
async function stored(prefix: string): Promise<string> {
  const values: (string | Buffer)[] = [];
  for (const key of await redis.keys(`${prefix}*`)) {
    const type = await redis.type(key);
    if (type === 'hash') values.push(...Object.values(await redis.hgetallBuffer(key)));
    if (type === 'list') values.push(...(await redis.lrange(key, 0, -1)));
  }
  return values.map((value) => Buffer.from(value).toString('latin1')).join('\n');
}

describe('payloads and results with codecs', () => {
  test('reach handlers, get, list and result, and are unreadable in Redis', async () => {
    const { queue, work, prefix } = newQueue({ codecs });
    const { id } = await queue.enqueue('pay', secret);
    expect(await queue.get(id)).toMatchObject({ payload: secret });
    expect((await queue.list('ready')).tasks).toMatchObject([{ payload: secret }]);
    const payloads: unknown[] = [];
    await work({ pay: async (payload) => (payloads.push(payload), { paid: payload.card }) }, { codecs });
    expect(await queue.result(id)).toEqual({ paid: secret.card });
    expect(payloads).toEqual([secret]);
    expect(await queue.get(id)).toMatchObject({ result: { paid: secret.card }, payload: secret });
    const text = await stored(prefix);
    expect(text).toContain('$codec');
    expect(text).not.toContain(secret.card);
    expect(text).not.toContain('one of many');
  });

  test('of steps, cursors and events are unreadable in Redis, too', async () => {
    const { queue, work, prefix } = newQueue({ codecs });
    const { id } = await queue.enqueue('pay', 1, { delayMs: 3_600_000 });
    await queue.deliver(id, 'paid', secret);
    await queue.deliver(id, 'sent', secret);
    await work(
      {
        pay: async (_, ctx) => {
          const event = await ctx.waitFor('paid', { timeoutMs: 60_000 });
          await ctx.setCursor(secret);
          const step = await ctx.step('charge', () => secret);
          if (ctx.attempt === 1) throw new Error('again');
          return [event, await ctx.cursor(), step];
        },
      },
      { codecs, backoff: { delayMs: 1 } },
    );
    await queue.promote(id);
    expect(await queue.result(id)).toEqual([secret, secret, secret]);
    expect(await stored(prefix)).not.toContain(secret.card);
  });

  test('of a repeated id are the same bytes, and others are a conflict', async () => {
    const { queue } = newQueue({ codecs });
    await queue.enqueue('pay', secret, { id: 'a' });
    expect(await queue.enqueue('pay', secret, { id: 'a' })).toEqual({ id: 'a', isDuplicate: true });
    await expect(queue.enqueue('pay', { ...secret, card: '5' }, { id: 'a' })).rejects.toMatchObject({
      code: 'ERR_TASK_CONFLICT',
    });
  });

  test('pass schemas of both sides as plain JSON, and a limit as plain bytes', async () => {
    const schemas = { pay: z.object({ card: z.string().max(19), lines: z.array(z.string()) }) };
    const { queue, work } = newQueue({ codecs, schemas, maxPayloadBytes: 2_000 });
    await expect(queue.enqueue('pay', { card: 4 })).rejects.toMatchObject({ code: 'ERR_INVALID_PAYLOAD' });
    await expect(
      queue.enqueue('pay', { ...secret, lines: Array.from({ length: 300 }, () => 'many') }),
    ).rejects.toMatchObject({ code: 'ERR_PAYLOAD_TOO_LARGE' });
    const { id } = await queue.enqueue('pay', secret);
    await work({ pay: async ({ card }) => card as string }, { codecs, schemas });
    expect(await queue.result(id)).toBe(secret.card);
  });

  test('that were stored before the codecs run beside new ones, also in batches', async () => {
    const { queue, work, prefix } = newQueue();
    const encoding = new Queue(redis, 'q', { prefix, codecs });
    const [old, late] = [await queue.enqueue('pay', { card: 'old' }), await encoding.enqueue('pay', secret)];
    const cards: unknown[] = [];
    await work(
      {
        pay: { maxSize: 10, handleMany: async (tasks) => tasks.map(({ payload }) => payload.card as string) },
      },
      { codecs },
    );
    for (const { id } of [old, late]) cards.push(await encoding.result(id));
    expect(cards).toEqual(['old', secret.card]);
  });

  test('of schedules, flows and claims are encoded and decoded too', async () => {
    const { queue, work, prefix } = newQueue({ codecs });
    await queue.schedule('daily', { everyMs: 86_400_000 }, 'pay', secret);
    expect(await queue.schedules()).toMatchObject([{ payload: secret }]);
    const flow = await queue.enqueueFlow({
      name: 'sum',
      payload: secret,
      children: [{ name: 'pay', payload: secret, options: { id: 'child' } }],
    });
    const claims = new Claims(redis, 'q', { prefix, codecs });
    const [claimed] = await claims.claim();
    expect(claimed).toMatchObject({ id: 'child', payload: secret });
    await claims.complete('child', claimed!.lease, { paid: secret.card });
    await work(
      { sum: async (_, context) => (await context.children()).map(({ result }) => result) },
      { codecs },
    );
    expect(await queue.result(flow.id)).toEqual([{ paid: secret.card }]);
    expect(await stored(prefix)).not.toContain(secret.card);
    await claims.stop();
  });
});

describe('a task with a dedupKey', () => {
  test('gets an encoded payload by replace and setPayload, but append is refused', async () => {
    const { queue, work, prefix } = newQueue({ codecs });
    await queue.enqueue('pay', { card: 'first' }, { dedupKey: 'k' });
    const { id } = await queue.enqueue('pay', { card: 'second' }, { dedupKey: 'k', onDuplicate: 'replace' });
    expect(await queue.get(id)).toMatchObject({ payload: { card: 'second' } });
    expect(await queue.setPayload(id, secret)).toBe(true);
    expect(await stored(prefix)).not.toContain(secret.card);
    await expect(queue.enqueue('pay', [1], { dedupKey: 'k', onDuplicate: 'append' })).rejects.toMatchObject({
      code: 'ERR_INVALID_ARG',
    });
    await work({ pay: async ({ card }) => card as string }, { codecs });
    expect(await queue.result(id)).toBe(secret.card);
  });
});

describe('without the codec', () => {
  test('an attempt fails and says why; a worker with it runs the task', async () => {
    const { queue, work } = newQueue({ codecs });
    const { id } = await queue.enqueue('pay', secret, {
      backoff: { type: 'fixed', delayMs: 3_600_000, jitter: 0 },
    });
    const plain = await work({ pay: async () => 'never' });
    let task: Task<Record<string, unknown>> | null = null;
    await until(async () => (task = await queue.get(id))?.state === 'retrying');
    expect(task).toMatchObject({ error: { code: 'ERR_PAYLOAD_ENCODED' } });
    await plain.stop();
    await queue.promote(id);
    await work({ pay: async ({ card }) => card as string }, { codecs });
    expect(await queue.result(id)).toBe(secret.card);
  });

  test('get and a claim return the payload as it is stored', async () => {
    const { queue, prefix } = newQueue({ codecs });
    const { id } = await queue.enqueue('pay', secret);
    const plain = new Queue(redis, 'q', { prefix });
    const { payload } = (await plain.get(id))!;
    expect(isEncoded(payload)).toBe(true);
    const claims = new Claims(redis, 'q', { prefix });
    expect(await claims.claim()).toMatchObject([{ id, payload: { $codec: 'br,aes' } }]);
    await claims.stop();
  });

  test('a producer with codecs refuses a payload that looks encoded; one without stores it for readers with them', async () => {
    const { queue, work, prefix } = newQueue({ codecs });
    const { id } = await queue.enqueue('pay', secret);
    const plain = new Queue(redis, 'q', { prefix });
    const encoded = (await plain.get(id))!.payload;
    await expect(queue.enqueue('pay', encoded)).rejects.toMatchObject({ code: 'ERR_INVALID_PAYLOAD' });
    const { id: passedOn } = await plain.enqueue('pay', encoded);
    await work({ pay: async ({ card }) => card as string }, { codecs });
    expect(await queue.result(passedOn)).toBe(secret.card);
  });
});
