import { Chats } from '@mortise/messaging';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const chats = new Chats<string>(redis, { prefix: 'example' });

const lunch = await chats.create({ sender: 'jill', members: ['jack'], body: 'Lunch?' });
await chats.post(lunch.chatId, 'jill', 'At noon?');
for (const { chatId, epoch, messages } of await chats.pull('jack')) {
  for (const { id, from, body } of messages) console.log(id, `${from}: ${body}`);
  await chats.ack(chatId, 'jack', messages.at(-1)!.id, { epoch });
}
console.log('unread:', await chats.unread('jack', lunch.chatId));
for (const member of ['jill', 'jack']) await chats.leave(lunch.chatId, member);
await redis.quit();

// Output:
// 1 jill: Lunch?
// 2 jill: At noon?
// unread: 0
