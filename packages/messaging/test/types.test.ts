import { expect, test } from '@jest/globals';
import { Mailboxes } from '@mortise/messaging';
import type { MailboxesOptions, Message, SendResult } from '@mortise/messaging';
import { connect, freshPrefix } from '@mortise/test-kit';
import { Cluster } from 'ioredis';

interface Mail {
  readonly subject: string;
}

const redis = connect();

test('bodies have the type of the mailboxes', async () => {
  const mailboxes = new Mailboxes<Mail>(redis, {
    prefix: freshPrefix(),
    maxMessages: 10,
    retentionMs: 5_000,
  });
  const sent: SendResult = await mailboxes.send('jack', { subject: 'hi' }, { from: 'anna' });
  const [message]: Message<Mail>[] = await mailboxes.receive('jack', { order: 'latest', waitMs: 1 });
  const subject: string | undefined = message?.body.subject;
  const freed: number = await mailboxes.ack('jack', sent.id);
  expect([subject, freed, await mailboxes.unread('jack')]).toEqual(['hi', 1, 0]);
  // @ts-expect-error -- no Mail
  await mailboxes.send('jack', { title: 'hi' }, { from: 'anna' });
  // @ts-expect-error -- no Mail
  await mailboxes.sendMany([{ recipient: 'jack', body: 'hi', from: 'anna' }]);
  // @ts-expect-error -- a Mail has no title
  expect((await mailboxes.receive('jack'))[0]?.body.title).toBe('hi');
});

test('what the compiler refuses is refused at run time as well', async () => {
  const mailboxes = new Mailboxes(redis, { prefix: freshPrefix() });
  // @ts-expect-error -- a URL is no client
  expect(() => new Mailboxes('redis://127.0.0.1')).toThrow(TypeError);
  // @ts-expect-error -- a number is wanted
  expect(() => new Mailboxes(redis, { maxMessages: '10' })).toThrow(TypeError);
  // @ts-expect-error -- who sends?
  await expect(mailboxes.send('jack', 'hi')).rejects.toThrow(TypeError);
  // @ts-expect-error -- who sends?
  await expect(mailboxes.send('jack', 'hi', { id: 'x' })).rejects.toThrow(TypeError);
  // @ts-expect-error -- an id is a number
  await expect(mailboxes.ack('jack', '1')).rejects.toThrow(TypeError);
  // @ts-expect-error -- there are two orders
  await expect(mailboxes.receive('jack', { order: 'random' })).rejects.toThrow(RangeError);
});

test('the compiler refuses options that do not exist', () => {
  // @ts-expect-error -- no such option
  const options: MailboxesOptions = { capacity: 10 };
  expect(options).toEqual({ capacity: 10 });
});

test('a Cluster is a client', () => {
  const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
  expect(new Mailboxes(cluster)).toBeInstanceOf(Mailboxes);
  cluster.disconnect();
});
