import { randomUUID } from 'node:crypto';
import { Chats } from '@mortise/messaging';
import type { ChatEvent } from '@mortise/messaging';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const chats = new Chats<string>(redis, { prefix: `example-${randomUUID()}`, maxMessages: 4 });
const { chatId } = await chats.create({ chatId: 'lunch', sender: 'jill', members: ['jack'] });

function show(event: ChatEvent<string>): void {
  if (event.type === 'message') console.log(event.message.id, event.message.body);
  else if (event.type === 'gap') console.log(`${event.fromId} to ${event.toId} are gone`);
  else if ('member' in event) console.log(event.member, event.type);
  else console.log(event.type);
}

// A browser would keep the token of the last event that it has handled.
let token = '';
const follower = chats.follow('jack');
await chats.post(chatId, 'jill', 'Lunch?');
for await (const event of follower) {
  show(event);
  token = event.token;
  if (event.type === 'message' && event.message.id === 1) {
    // Pushed, as he follows. Typing is never stored.
    await chats.typing(chatId, 'jill');
    await chats.post(chatId, 'jill', 'At noon?');
  }
  // The connection is cut.
  if (event.type === 'message' && event.message.id === 2) break;
}

// Meanwhile more is posted than the chat keeps.
for (const body of ['Hello?', 'Jack?', 'I am here', 'Going', 'Gone']) await chats.post(chatId, 'jill', body);

// With the token he continues after the last event, and gets what he has missed.
for await (const event of chats.follow('jack', { after: token })) {
  show(event);
  if (event.type === 'message' && event.message.id === 7) break;
}
await redis.quit();

// Output:
// 1 Lunch?
// jill typing
// 2 At noon?
// 3 to 3 are gone
// 4 Jack?
// 5 I am here
// 6 Going
// 7 Gone
