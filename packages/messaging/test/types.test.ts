import { expect, test } from '@jest/globals';
import { Chats, Mailboxes } from '@mortise/messaging';
import type {
  AddDeviceResult,
  ChatEvent,
  ChatEvents,
  ChatMessage,
  CreateResult,
  JoinResult,
  MailboxDevice,
  MailboxesOptions,
  MailboxStatus,
  Message,
  PostResult,
  Pulled,
  Role,
  SendResult,
} from '@mortise/messaging';
import type { MessagingModuleOptions } from '@mortise/messaging/nestjs';
import { InjectChats, InjectMailboxes, MessagingModule } from '@mortise/messaging/nestjs';
import { connect, freshPrefix } from '@mortise/test-kit';
import { Cluster } from 'ioredis';

interface Text {
  readonly text: string;
}

const redis = connect();
const chats = new Chats<Text>(redis, { prefix: freshPrefix(), keepAcked: 10 });
const mailboxes = new Mailboxes<Text>(redis, { prefix: freshPrefix(), maxMessages: 10, keepMs: 5_000 });

test('bodies are of the type that the chats were made for', async () => {
  const created: CreateResult = await chats.create({
    sender: 'anna',
    members: ['bob'],
    body: { text: 'hi' },
  });
  const posted: PostResult = await chats.post(created.chatId, 'anna', { text: 'there' });
  const [pulled] = (await chats.pull('bob')) as [Pulled<Text>];
  const texts: string[] = pulled.messages.map(({ body }) => body.text);
  expect(texts).toEqual(['hi', 'there']);
  const edited: PostResult = await chats.edit(created.chatId, 'anna', posted.id, { text: 'everybody' });
  const history: ChatMessage<Text>[] = await chats.history(created.chatId);
  expect(history.map(({ id, kind, revises }) => ({ id, kind, revises })).at(-1)).toEqual({
    id: edited.id,
    kind: 'edit',
    revises: posted.id,
  });
  const role: Role = 'reader';
  const joined: JoinResult = await chats.join(created.chatId, 'carl', { role });
  const acked: number = await chats.ack(created.chatId, 'bob', posted.id, { epoch: pulled.epoch });
  const hasLeft: boolean = await chats.leave(created.chatId, 'carl');
  expect([joined.ackedId, acked, hasLeft]).toEqual([edited.id, posted.id, true]);
});

test('bodies are of the type that the mailboxes were made for', async () => {
  const sent: SendResult = await mailboxes.send('jack', { text: 'hi' }, { from: 'anna' });
  const [message]: Message<Text>[] = await mailboxes.receive('jack', { order: 'latest', waitMs: 1 });
  const text: string | undefined = message?.body.text;
  const freed: number = await mailboxes.ack('jack', sent.id);
  expect([text, freed, await mailboxes.unread('jack')]).toEqual(['hi', 1, 0]);
  // @ts-expect-error -- no Text
  await mailboxes.send('jack', { title: 'hi' }, { from: 'anna' });
  // @ts-expect-error -- no Text
  await mailboxes.sendMany([{ recipient: 'jack', body: 'hi', from: 'anna' }]);
  // @ts-expect-error -- a Text has no title
  expect((await mailboxes.receive('jack'))[0]?.body.title).toBe('hi');
});

test('devices, blocked senders and expiry have types, too', async () => {
  const added: AddDeviceResult = await mailboxes.addDevice('jill', 'phone', { at: 'oldest' });
  await mailboxes.send('jill', { text: 'hi' }, { from: 'anna', ttlMs: 60_000 });
  const status: MailboxStatus = await mailboxes.status('jill');
  const [phone]: readonly MailboxDevice[] = await mailboxes.devices('jill');
  const changed: boolean[] = [
    await mailboxes.block('jill', 'joe'),
    await mailboxes.unblock('jill', 'joe'),
    await mailboxes.removeDevice('jill', 'phone'),
  ];
  const blocked: string[] = await mailboxes.blocked('jill');
  expect([added.isNew, status.unread, phone?.unread]).toEqual([true, 1, 1]);
  expect([changed, blocked]).toEqual([[true, true, true], []]);
});

test('the compiler refuses wrong types, and so do chats when they run', async () => {
  const wrong = [
    // @ts-expect-error -- no such option
    () => new Chats(redis, { maxMessage: 1 }),
    // @ts-expect-error -- a body of another type
    () => chats.post('guild', 'anna', 'hi'),
    // @ts-expect-error -- a body of another type
    () => chats.edit('guild', 'anna', 1, { texts: 'hi' }),
    // @ts-expect-error -- a sender is needed
    () => chats.create({ members: ['bob'] }),
    // @ts-expect-error -- members are a list
    () => chats.create({ sender: 'anna', members: 'bob' }),
    // @ts-expect-error -- no such role
    () => chats.join('guild', 'anna', { role: 'admin' }),
    // @ts-expect-error -- ids are numbers
    () => chats.ack('guild', 'anna', '1'),
    // @ts-expect-error -- epochs are numbers
    () => chats.ack('guild', 'anna', 1, { epoch: '1' }),
    // @ts-expect-error -- the message is named by its id
    () => chats.delete('guild', 'anna'),
    // @ts-expect-error -- no such role
    () => chats.setRole('guild', 'anna', 'god'),
  ];
  const outcomes = await Promise.allSettled(wrong.map(async (call) => call()));
  expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => 'rejected'));
});

test('so do mailboxes, with the error of the kind of misuse', async () => {
  const plain = new Mailboxes(redis, { prefix: freshPrefix() });
  const wrong: readonly [ErrorConstructor, () => unknown][] = [
    // @ts-expect-error -- a URL is no client
    [TypeError, () => new Mailboxes('redis://127.0.0.1')],
    // @ts-expect-error -- a number is wanted
    [TypeError, () => new Mailboxes(redis, { maxMessages: '10' })],
    // @ts-expect-error -- who sends?
    [TypeError, () => plain.send('jack', 'hi')],
    // @ts-expect-error -- who sends?
    [TypeError, () => plain.send('jack', 'hi', { id: 'x' })],
    // @ts-expect-error -- ms are a number
    [TypeError, () => plain.send('jack', 'hi', { from: 'anna', ttlMs: '1s' })],
    // @ts-expect-error -- an id is a number
    [TypeError, () => plain.ack('jack', '1')],
    // @ts-expect-error -- there are two orders
    [RangeError, () => plain.receive('jack', { order: 'random' })],
    // @ts-expect-error -- a device has a name
    [TypeError, () => plain.receive('jack', { device: 7 })],
    // @ts-expect-error -- a device is added somewhere
    [RangeError, () => plain.addDevice('jack', 'tv', { at: 'start' })],
    // @ts-expect-error -- which device?
    [TypeError, () => plain.removeDevice('jack')],
  ];
  for (const [Misuse, call] of wrong) await expect((async () => call())()).rejects.toThrow(Misuse);
  // @ts-expect-error -- no such option
  const options: MailboxesOptions = { capacity: 10 };
  expect(options).toEqual({ capacity: 10 });
});

test('a Cluster is a client', () => {
  const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
  expect(new Mailboxes(cluster)).toBeInstanceOf(Mailboxes);
  cluster.disconnect();
});

/** Compiled, not called. */
async function follow(signal: AbortSignal): Promise<void> {
  for await (const event of chats.follow('bob', { signal, after: 'a', includeMuted: true })) {
    const { chatId, token }: { chatId: string; token: string } = event;
    chats.follow(chatId, { after: token });
    // @ts-expect-error -- not all events have a message
    String(event.message);
    if (event.type === 'message') event.message.body.text.trim();
    // @ts-expect-error -- the body is a Text
    if (event.type === 'message') event.message.body.other.trim();
    if (event.type === 'gap') (event.toId - event.fromId).toFixed();
    if (event.type === 'presence') event.status.trim();
    // @ts-expect-error -- a chat that has ended has no member
    if (event.type === 'ended') event.member.trim();
  }
  const events: ChatEvents<Text> = chats.follow('bob');
  await events.open();
  // @ts-expect-error -- a number is no token
  chats.follow('bob', { after: 7 });
  // @ts-expect-error -- there is no such option
  chats.follow('bob', { limit: 7 });
  // @ts-expect-error -- a status is a text
  await chats.presence('bob', true);
  await chats.typing('guild', 'bob');
}

/** Knows every type of event. */
function nameOf({ type }: ChatEvent): string {
  const names: Record<ChatEvent['type'], string> = {
    message: 'a message',
    edit: 'an edit',
    delete: 'a deletion',
    gap: 'a gap',
    reset: 'a reset',
    joined: 'somebody came',
    left: 'somebody went',
    ended: 'the end',
    typing: 'typing',
    presence: 'presence',
  };
  return names[type];
}

test('each type of event has its own fields', () => {
  expect(nameOf({ type: 'ended', chatId: 'guild', token: 'a' })).toBe('the end');
  expect(follow).toBeInstanceOf(Function);
});

test('forRoot takes a client and options, forRootAsync a factory of them', () => {
  const options: MessagingModuleOptions = {
    redis,
    prefix: undefined,
    mailboxes: { maxMessages: 10 },
    chats: { keepAcked: 100 },
    files: { windowBytes: 65_536, holder: 'http' },
  };
  expect(MessagingModule.forRoot(options)).toMatchObject({ module: MessagingModule, global: true });
  expect(MessagingModule.forRoot({ redis, name: 'second' })).toHaveProperty('exports');
  const asynchronous = MessagingModule.forRootAsync({ inject: ['redis'], useFactory: async () => options });
  expect(asynchronous.providers).toHaveLength(5);
  const cluster = (client: Cluster): MessagingModuleOptions => ({ redis: client });
  expect(cluster).toHaveLength(1);

  // @ts-expect-error -- no client
  MessagingModule.forRoot({ prefix: 'app' });
  // @ts-expect-error -- chats have members, mailboxes don't
  MessagingModule.forRoot({ redis, mailboxes: { maxMembers: 5 } });
  // @ts-expect-error -- one prefix for both
  MessagingModule.forRoot({ redis, chats: { prefix: 'app' } });
  // @ts-expect-error -- the receivers differ by channel
  MessagingModule.forRoot({ redis, files: { receivers: ['r1'] } });
  // @ts-expect-error -- options without a client
  MessagingModule.forRootAsync({ useFactory: () => ({ prefix: 'app' }) });
});

test('decorators take the names of modules', () => {
  class Decorated {
    @InjectMailboxes() declare readonly mailboxes: unknown;

    // @ts-expect-error -- modules have names
    @InjectChats(7) declare readonly chats: unknown;
  }
  expect(Object.getOwnPropertyNames(Decorated.prototype)).toEqual(['constructor']);
});
