import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { Chats, isEncoded, Mailboxes } from '@mortise/messaging';
import { compression, encryption } from '@mortise/messaging/codecs';
import { connect, freshPrefix, until } from '@mortise/test-kit';

const redis = connect();
const codecs = [compression(), encryption({ keys: { k1: randomBytes(32) }, current: 'k1' })];
const SECRET = 'meet at the dock';

async function listOf(prefix: string): Promise<string> {
  const [key] = await redis.keys(`${prefix}*:log`);
  return (await redis.lrange(key!, 0, -1)).join('\n');
}

describe('bodies with codecs', () => {
  test('of chats come back by every way, and are unreadable in Redis', async () => {
    const prefix = freshPrefix();
    const chats = new Chats<string>(redis, { prefix, codecs });
    const { chatId } = await chats.create({ sender: 'ann', members: ['ben'], body: `${SECRET} 1` });
    await chats.post(chatId, 'ann', `${SECRET} 2`);
    await chats.edit(chatId, 'ann', 2, `${SECRET} 3`);
    const bodies = [`${SECRET} 1`, `${SECRET} 3`, `${SECRET} 3`];
    const [pulled] = await chats.pull('ben');
    expect(pulled!.messages.map(({ body }) => body)).toEqual(bodies);
    const messages = await chats.history(chatId);
    expect(messages.map(({ body }) => body)).toEqual(bodies);
    const followed: unknown[] = [];
    for await (const event of chats.follow('ben')) {
      if (event.type !== 'message' && event.type !== 'edit') continue;
      followed.push(event.message.body);
      if (followed.length === 3) break;
    }
    expect(followed).toEqual(bodies);
    const text = await listOf(prefix);
    expect(text).toContain('$codec');
    expect(text).not.toContain(SECRET);
  });

  test('of mailboxes come back, beside older plain ones; without the codec as they are stored', async () => {
    const prefix = freshPrefix();
    const plain = new Mailboxes(redis, { prefix });
    const mailboxes = new Mailboxes(redis, { prefix, codecs });
    await plain.send('ben', 'old', { from: 'ann' });
    await mailboxes.send('ben', SECRET, { from: 'ann', id: 'm1' });
    expect(await mailboxes.send('ben', SECRET, { from: 'ann', id: 'm1' })).toMatchObject({
      isDuplicate: true,
    });
    expect((await mailboxes.receive('ben')).map(({ body }) => body)).toEqual(['old', SECRET]);
    expect((await plain.receive('ben')).map(({ body }) => isEncoded(body))).toEqual([false, true]);
  });

  test('of older keys come back after a change of keys, and repeated calls are recognized', async () => {
    const prefix = freshPrefix();
    const [k1, k2] = [randomBytes(32), randomBytes(32)];
    const withKeys = (keys: Record<string, Buffer>, current: string) => ({
      prefix,
      codecs: [compression({ aboveBytes: 20 }), encryption({ keys, current })],
    });
    const [before, during, after] = [
      withKeys({ k1 }, 'k1'),
      withKeys({ k1, k2 }, 'k2'),
      withKeys({ k2 }, 'k2'),
    ];
    const long = SECRET.repeat(10);
    const { chatId } = await new Chats(redis, { prefix }).create({
      sender: 'ann',
      members: ['ben'],
      body: 'plain',
    });
    await new Chats(redis, before).post(chatId, 'ann', long, { id: 'p' });
    await new Mailboxes(redis, before).send('ben', SECRET, { from: 'ann', id: 'm' });

    const chats = new Chats<string>(redis, during);
    const followed: unknown[] = [];
    const signal = new AbortController();
    const following = (async () => {
      for await (const event of chats.follow('ben', { signal: signal.signal })) {
        if (event.type === 'message' || event.type === 'edit') followed.push(event.message.body);
      }
    })();
    expect(await chats.post(chatId, 'ann', long, { id: 'p' })).toMatchObject({ id: 2, isDuplicate: true });
    await chats.edit(chatId, 'ann', 1, 'edited');
    await chats.post(chatId, 'ann', SECRET);
    const bodies = ['edited', long, 'edited', SECRET];
    expect((await chats.history(chatId)).map(({ body }) => body)).toEqual(bodies);
    await until('the followed bodies', () => followed.at(-1) === SECRET);
    signal.abort();
    await following.catch(() => undefined);
    expect(followed.filter((body) => body !== 'plain' && body !== 'edited')).toEqual([long, SECRET]);
    const mailboxes = new Mailboxes(redis, during);
    expect(await mailboxes.send('ben', SECRET, { from: 'ann', id: 'm' })).toMatchObject({
      isDuplicate: true,
    });
    expect((await mailboxes.receive('ben')).map(({ body }) => body)).toEqual([SECRET]);

    // Without the old key: as stored, and the later ones still come.
    const [pulled] = await new Chats(redis, after).pull('ben');
    expect(pulled!.messages.map(({ body }) => (isEncoded(body) ? body.$codec : body))).toEqual([
      'edited',
      'br,aes',
      'edited',
      SECRET,
    ]);
  });

  test('refuse a body that looks encoded, and one that is too large before it is encoded', async () => {
    const mailboxes = new Mailboxes(redis, { prefix: freshPrefix(), codecs, maxPayloadBytes: 2_000 });
    await expect(mailboxes.send('ben', { $codec: 'aes', data: '' }, { from: 'ann' })).rejects.toMatchObject({
      code: 'ERR_INVALID_BODY',
    });
    await expect(mailboxes.send('ben', 'a'.repeat(2_000), { from: 'ann' })).rejects.toMatchObject({
      code: 'ERR_BODY_TOO_LARGE',
    });
  });
});
