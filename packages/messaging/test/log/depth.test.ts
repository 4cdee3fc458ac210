import { expect, test } from '@jest/globals';
import { Chats, InvalidBodyError, Mailboxes } from '@mortise/messaging';
import { connect, freshPrefix } from '@mortise/test-kit';

const redis = connect();

function nest(depth: number): unknown {
  let body: unknown = 'x'.repeat(300);
  for (let level = 0; level < depth; level += 1) body = level % 2 === 0 ? [body] : { body };
  return body;
}

test.each([129, 100_000])('bodies nested %d deep are refused, and nothing is sent', async (depth) => {
  const prefix = freshPrefix();
  const mailboxes = new Mailboxes(redis, { prefix, maxPayloadBytes: 1_048_576 });
  const chats = new Chats(redis, { prefix, maxPayloadBytes: 1_048_576 });
  await chats.create({ chatId: 'c', sender: 'anna', members: ['ben'] });
  await chats.post('c', 'anna', 'x');
  const body = nest(depth);
  const before = (await redis.keys(`${prefix}:*`)).toSorted();
  const refusals = await Promise.allSettled([
    mailboxes.send('jack', body, { from: 'anna' }),
    mailboxes.sendMany([
      { recipient: 'jack', body: 1, from: 'anna' },
      { recipient: 'jack', body, from: 'anna' },
    ]),
    chats.post('c', 'anna', body),
    chats.edit('c', 'anna', 1, body),
    chats.create({ chatId: 'new', sender: 'anna', members: [], body }),
  ]);
  for (const refusal of refusals) {
    expect(refusal).toMatchObject({ status: 'rejected', reason: expect.any(InvalidBodyError) });
    expect(refusal).toMatchObject({ reason: { code: 'ERR_INVALID_BODY', maxDepth: 128 } });
  }
  expect((await redis.keys(`${prefix}:*`)).toSorted()).toEqual(before);
  expect(await chats.history('c')).toHaveLength(1);
});

test('128 levels, and brackets in strings, are taken', async () => {
  const mailboxes = new Mailboxes(redis, { prefix: freshPrefix() });
  const bodies = [nest(128), ['"['.repeat(300), '\\'.repeat(300)]];
  for (const body of bodies) await mailboxes.send('jack', body, { from: 'anna' });
  expect((await mailboxes.receive('jack')).map(({ body }) => body)).toEqual(bodies);
});
