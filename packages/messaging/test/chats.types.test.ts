import { expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import type { ChatMessage, CreateResult, JoinResult, PostResult, Pulled, Role } from '@mortise/messaging';
import { connect, freshPrefix } from '@mortise/test-kit';

interface Text {
  readonly text: string;
}

const chats = new Chats<Text>(connect(), { prefix: freshPrefix(), keepAcked: 10 });

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
  expect(joined.ackedId).toBe(edited.id);
  const acked: number = await chats.ack(created.chatId, 'bob', posted.id, { epoch: pulled.epoch });
  expect(acked).toBe(posted.id);
  const hasLeft: boolean = await chats.leave(created.chatId, 'carl');
  expect(hasLeft).toBe(true);
});

test('the compiler refuses wrong types', async () => {
  const wrong = [
    // @ts-expect-error -- no such option
    () => new Chats(connect(), { maxMessage: 1 }),
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
  // They are refused when they run as well, but for options that are not known.
  const outcomes = await Promise.allSettled(wrong.slice(1).map(async (call) => call()));
  expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => 'rejected'));
});
