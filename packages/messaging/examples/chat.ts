import { randomUUID } from 'node:crypto';
import { Chats } from '@mortise/messaging';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const chats = new Chats<string>(redis, { prefix: `example-${randomUUID()}` });

const { chatId } = await chats.create({ sender: 'jill', members: ['jack', 'joe'], body: 'Lunch?' });
await chats.post(chatId, 'jack', 'At noon?');
// The reply got lost, so it's sent again: the id makes that safe.
const yes = { id: randomUUID() };
const first = await chats.post(chatId, 'jill', 'Yes!', yes);
const again = await chats.post(chatId, 'jill', 'Yes!', yes);
console.log(first.id, again.id, again.isDuplicate);

// All chats of joe at once. Nothing moves until he acks.
for (const chat of await chats.pull('joe')) {
  for (const { id, from, body } of chat.messages) {
    console.log(`${from}: ${body}`);
    await chats.ack(chat.chatId, 'joe', id, { epoch: chat.epoch });
  }
}
console.log('new for joe:', (await chats.pull('joe')).length);

// The cursors of the members tell who has read what.
for (const { member, ackedId, role } of (await chats.members(chatId)).members) {
  console.log(member, ackedId, role);
}

await chats.edit(chatId, 'jack', 2, 'At one?');
await chats.delete(chatId, 'jill', 3);
console.log('unread for jack:', (await chats.chatsOf('jack'))[0]?.unread);
for (const message of await chats.history(chatId)) {
  console.log(message.id, message.kind, message.body);
}
await redis.quit();

// Output:
// 3 3 true
// jill: Lunch?
// jack: At noon?
// jill: Yes!
// new for joe: 0
// jack 0 member
// jill 1 owner
// joe 3 member
// unread for jack: 2
// 1 message Lunch?
// 2 message At one?
// 4 edit At one?
// 5 delete undefined
