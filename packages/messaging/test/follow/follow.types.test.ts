import { expect, test } from '@jest/globals';
import type { ChatEvent, ChatEvents, Chats } from '@mortise/messaging';

interface Text {
  readonly text: string;
}

/** Compiled, not called. */
async function types(chats: Chats<Text>, signal: AbortSignal): Promise<void> {
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
  expect(types).toBeInstanceOf(Function);
});
