import { expect, test } from '@jest/globals';
import { Mailboxes } from '@mortise/messaging';
import type {
  AddDeviceResult,
  MailboxDevice,
  MailboxesOptions,
  MailboxStatus,
  Message,
  SendResult,
} from '@mortise/messaging';
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
    keepMs: 5_000,
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

test('devices, blocked senders and expiry have types, too', async () => {
  const mailboxes = new Mailboxes<Mail>(redis, { prefix: freshPrefix() });
  const added: AddDeviceResult = await mailboxes.addDevice('jack', 'phone', { at: 'oldest' });
  await mailboxes.send('jack', { subject: 'hi' }, { from: 'anna', ttlMs: 60_000 });
  const status: MailboxStatus = await mailboxes.status('jack');
  const [phone]: readonly MailboxDevice[] = await mailboxes.devices('jack');
  const changed: boolean[] = [
    await mailboxes.block('jack', 'joe'),
    await mailboxes.unblock('jack', 'joe'),
    await mailboxes.removeDevice('jack', 'phone'),
  ];
  const blocked: string[] = await mailboxes.blocked('jack');
  expect([added.isNew, status.unread, phone?.unread, changed, blocked]).toEqual([
    true,
    1,
    1,
    [true, true, true],
    [],
  ]);
  // @ts-expect-error -- a device is added somewhere
  await expect(mailboxes.addDevice('jack', 'tv', { at: 'start' })).rejects.toThrow(RangeError);
  // @ts-expect-error -- which device?
  await expect(mailboxes.removeDevice('jack')).rejects.toThrow(TypeError);
  // @ts-expect-error -- ms are a number
  const sent = mailboxes.send('jack', { subject: 'hi' }, { from: 'anna', ttlMs: '1s' });
  await expect(sent).rejects.toThrow(TypeError);
  // @ts-expect-error -- a device has a name
  await expect(mailboxes.receive('jack', { device: 7 })).rejects.toThrow(TypeError);
});

test('the package refuses at run time the types that the compiler refuses', async () => {
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
