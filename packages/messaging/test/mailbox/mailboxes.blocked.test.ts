import { describe, expect, test } from '@jest/globals';
import { Mailboxes, NotAllowedError, TooManyError } from '@mortise/messaging';
import { connect, freshPrefix } from '@mortise/test-kit';

const redis = connect();

function create(prefix = freshPrefix()): Mailboxes {
  return new Mailboxes(redis, { prefix });
}

describe('block', () => {
  test('refuses messages of the sender, and takes those of others', async () => {
    const mailboxes = create();
    await mailboxes.send('jack', 'before', { from: 'joe' });
    expect(await mailboxes.block('jack', 'joe')).toBe(true);
    expect(await mailboxes.block('jack', 'joe')).toBe(false);
    const refusal = await mailboxes.send('jack', 'spam', { from: 'joe' }).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(NotAllowedError);
    expect(refusal).toMatchObject({ code: 'ERR_SENDER_BLOCKED', recipient: 'jack', sender: 'joe' });
    expect(await mailboxes.send('jack', 'hi', { from: 'anna' })).toEqual({ id: 2, isDuplicate: false });
    expect(await mailboxes.send('jill', 'hi', { from: 'joe' })).toEqual({ id: 1, isDuplicate: false });
    // Stored messages stay.
    expect((await mailboxes.receive('jack')).map(({ body }) => body)).toEqual(['before', 'hi']);
  });

  test('refuses only the messages of the sender in a batch', async () => {
    const mailboxes = create();
    await mailboxes.block('jack', 'joe');
    const outcomes = await Promise.allSettled(
      ['anna', 'joe', 'bert', 'joe', 'anna'].map((from, index) =>
        mailboxes.send('jack', index, { from, id: `id ${index}`, ...(index === 4 && { ttlMs: 3_600_000 }) }),
      ),
    );
    expect(
      outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value.id : outcome.reason.code)),
    ).toEqual([1, 'ERR_SENDER_BLOCKED', 2, 'ERR_SENDER_BLOCKED', 3]);
    expect((await mailboxes.receive('jack')).map(({ body }) => body)).toEqual([0, 2, 4]);
  });

  test('a `ttlMs` counts for its own message, also after refused ones', async () => {
    const prefix = freshPrefix();
    const mailboxes = create(prefix);
    await mailboxes.block('jack', 'joe');
    await Promise.allSettled(
      [
        { from: 'joe', ttlMs: 1_000 },
        { from: 'anna' },
        { from: 'anna', ttlMs: 3_600_000 },
        { from: 'anna' },
      ].map((options) => mailboxes.send('jack', 1, options)),
    );
    expect(await redis.zrange(`${prefix}:messaging:{jack}:mailbox-expiring`, '0', '-1')).toEqual(['2']);
  });

  test('sendMany sends the others, then rejects with the refusal', async () => {
    const mailboxes = create();
    await mailboxes.block('jack', 'joe');
    const messages = ['jack', 'jill', 'jack'].map((recipient, index) => ({
      recipient,
      body: index,
      from: index === 0 ? 'joe' : 'anna',
    }));
    await expect(mailboxes.sendMany(messages)).rejects.toThrow('"jack" takes nothing from "joe"');
    expect(await Promise.all([mailboxes.unread('jack'), mailboxes.unread('jill')])).toEqual([1, 1]);
  });

  test('answers the repetition of a message that was sent before', async () => {
    const mailboxes = create();
    const options = { from: 'joe', id: 'x' };
    await mailboxes.send('jack', 1, options);
    await mailboxes.block('jack', 'joe');
    const outcomes = await Promise.allSettled([
      mailboxes.send('jack', 1, options),
      mailboxes.send('jack', 2, { from: 'joe', id: 'y' }),
    ]);
    expect(outcomes).toMatchObject([
      { status: 'fulfilled', value: { id: 1, isDuplicate: true } },
      { status: 'rejected', reason: { code: 'ERR_SENDER_BLOCKED' } },
    ]);
  });

  test('makes no mailbox, and neither does a refused message', async () => {
    const prefix = freshPrefix();
    const mailboxes = create(prefix);
    await mailboxes.block('jack', 'joe');
    await expect(mailboxes.send('jack', 1, { from: 'joe' })).rejects.toThrow(NotAllowedError);
    expect(await redis.keys(`${prefix}:*`)).toEqual([`${prefix}:messaging:{jack}:mailbox-blocked`]);
    expect((await mailboxes.status('jack')).epoch).toBeNull();
  });

  test('is full at 10,000, and says so', async () => {
    const mailboxes = create();
    const names = Array.from({ length: 10_000 }, (_, index) => `sender ${index}`);
    await Promise.all(names.map((name) => mailboxes.block('jack', name)));
    const changes = await Promise.allSettled([
      mailboxes.block('jack', 'one more'),
      mailboxes.block('jack', 'sender 7'),
      mailboxes.unblock('jack', 'sender 7'),
      mailboxes.block('jack', 'one more'),
    ]);
    expect(changes[0]).toMatchObject({ reason: expect.any(TooManyError) });
    expect(changes[0]).toMatchObject({ reason: { code: 'ERR_TOO_MANY_BLOCKED', maxBlocked: 10_000 } });
    expect(changes.slice(1)).toEqual([
      { status: 'fulfilled', value: false },
      { status: 'fulfilled', value: true },
      { status: 'fulfilled', value: true },
    ]);
  });
});

describe('unblock and blocked', () => {
  test('let the sender in again, and tell whom the recipient has blocked', async () => {
    const mailboxes = create();
    expect(await mailboxes.blocked('jack')).toEqual([]);
    await Promise.all(['joe', 'bert', '}x', '\ud83d', '\0'].map((sender) => mailboxes.block('jack', sender)));
    expect(await mailboxes.blocked('jack')).toEqual(['\0', 'bert', 'joe', '}x', '\ud83d']);
    expect(await mailboxes.unblock('jack', 'joe')).toBe(true);
    expect(await mailboxes.unblock('jack', 'joe')).toBe(false);
    expect(await mailboxes.send('jack', 'hi', { from: 'joe' })).toEqual({ id: 1, isDuplicate: false });
    await expect(mailboxes.send('jack', 'hi', { from: '}x' })).rejects.toThrow(NotAllowedError);
    await expect(mailboxes.send('jack', 'hi', { from: '\0' })).rejects.toThrow(NotAllowedError);
  });

  test('happen in the order of the calls', async () => {
    const mailboxes = create();
    const changes = [true, false, false, true, true];
    const results = changes.map((isBlock) =>
      isBlock ? mailboxes.block('jack', 'joe') : mailboxes.unblock('jack', 'joe'),
    );
    expect(await Promise.all(results)).toEqual([true, true, false, true, false]);
  });

  test.each([['', RangeError] as const, [null as unknown as string, TypeError] as const])(
    'refuse %j as a name',
    async (name, Misuse) => {
      const mailboxes = create();
      await expect(mailboxes.block('jack', name)).rejects.toThrow(Misuse);
      await expect(mailboxes.block(name, 'joe')).rejects.toThrow(Misuse);
      await expect(mailboxes.unblock('jack', name)).rejects.toThrow(Misuse);
      await expect(mailboxes.blocked(name)).rejects.toThrow(Misuse);
    },
  );
});
