import { randomUUID } from 'node:crypto';
import { Chats } from '@mortise/messaging';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const chats = new Chats<string>(redis, { prefix: `example-${randomUUID()}` });
const { chatId } = await chats.create({ sender: 'jill', members: ['jack', 'joe'], body: 'Lunch?' });

// Members learn of each other while they follow; a signal that nobody receives is gone.
for await (const event of chats.follow('jack')) {
  if (event.type === 'message') {
    await chats.typing(chatId, 'joe');
    await chats.presence('joe', 'away');
    await chats.leave(chatId, 'joe');
  } else if (event.type === 'presence') {
    console.log(event.member, 'is', event.status);
  } else if (event.type === 'typing') {
    console.log(event.member, 'is typing');
  } else if (event.type === 'left') {
    console.log(event.member, 'has left');
    break;
  }
}
await redis.quit();

// Output:
// joe is typing
// joe is away
// joe has left
