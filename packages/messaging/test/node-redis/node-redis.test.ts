import { describe, expect, test } from '@jest/globals';
import { freshPrefix } from '@mortise/test-kit';
import { connectNodeRedis, NODE_REDIS_MAJORS } from '@mortise/test-kit/node-redis';
import { Chats, Mailboxes } from '../../src/index.js';
import { fromNodeRedis } from '../../src/node-redis/index.js';

describe.each(NODE_REDIS_MAJORS)('node-redis %s', (major) => {
  test('a follower gets what another client posts', async () => {
    const prefix = freshPrefix();
    const [one, other] = await Promise.all([connectNodeRedis(major), connectNodeRedis(major)]);
    const chats = new Chats(fromNodeRedis(one), { prefix });
    const { chatId } = await chats.create({ sender: 'ann', members: ['ben'], body: 'hello' });
    const bodies: unknown[] = [];
    for await (const event of new Chats(fromNodeRedis(other), { prefix }).follow('ben')) {
      if (event.type !== 'message') continue;
      bodies.push(event.message.body);
      if (bodies.length === 1) await chats.post(chatId, 'ann', { text: 'grün' });
      else break;
    }
    expect(bodies).toEqual(['hello', { text: 'grün' }]);
  });

  test('a waiting recipient gets a message, and acks it', async () => {
    const prefix = freshPrefix();
    const [one, other] = await Promise.all([connectNodeRedis(major), connectNodeRedis(major)]);
    const waiting = new Mailboxes(fromNodeRedis(other), { prefix }).receive('ben', { waitMs: 30_000 });
    const mailboxes = new Mailboxes(fromNodeRedis(one), { prefix });
    await mailboxes.send('ben', 'hello', { from: 'ann' });
    const [message] = await waiting;
    expect(message?.body).toBe('hello');
    await mailboxes.ack('ben', message!.id);
    expect(await mailboxes.unread('ben')).toBe(0);
  });
});
