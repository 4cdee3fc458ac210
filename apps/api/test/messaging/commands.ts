/** Which commands the hot routes send: an added round trip shows here. */
import { expect, test } from '@jest/globals';
import { connect } from '@mortise/test-kit';

import type { Answer } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';
import { isOfMarket, sentBy } from '../fixture/sent-by.js';
import { EventReader, SocketClient } from '../fixture/streams.js';

const redis = connect();
const api = await startApi();

const ask = (method: string, path: string, body?: object): Promise<Answer> =>
  api.send({ method, path: `/v1/${path}`, ...(body && { body }) });

test('the commands of the routes and frames', async () => {
  const readers: EventReader[] = [];
  let socket!: SocketClient;
  const steps = (n: number): Record<string, () => Promise<unknown>> => ({
    send: () => ask('POST', `mailboxes/ann-${n}/messages`, { from: 'bill', body: n }),
    receive: () => ask('GET', `mailboxes/ann-${n}/messages`),
    ack: () => ask('POST', `mailboxes/ann-${n}/ack`, { upToId: 1 }),
    status: () => ask('GET', `mailboxes/ann-${n}`),
    create: () => ask('POST', 'chats', { sender: 'frank', members: [`bill-${n}`], chatId: `chat-${n}` }),
    post: () => ask('POST', `chats/chat-${n}/messages`, { sender: 'frank', body: 1 }),
    pending: () => ask('GET', `members/bill-${n}/pending`),
    cursor: () => ask('PUT', `chats/chat-${n}/members/bill-${n}/cursor`, { upToId: 0 }),
    chatsOf: () => ask('GET', `members/bill-${n}/chats`),
    history: () => ask('GET', `chats/chat-${n}/messages`),
    typing: () => ask('POST', `chats/chat-${n}/typing`, { member: `bill-${n}` }),
    'events: a stream begins': async () => {
      const reader = await EventReader.open(api.url, `/v1/members/bill-${n}/events`);
      readers.push(await reader.count(1));
    },
    'events: a second one of the member': async () => {
      const reader = await EventReader.open(api.url, `/v1/members/bill-${n}/events`);
      readers.push(await reader.count(1));
    },
    'socket: subscribe': async () => {
      socket = await SocketClient.subscribe(api.url, `bill-${n}`);
      await socket.count(1);
    },
    'socket: post, to three streams': async () => {
      await socket.ask({ post: { chatId: `chat-${n}`, body: 2 } });
      await Promise.all(readers.map((reader) => reader.count(2)));
    },
    'socket: ack': () => socket.ask({ ack: { chatId: `chat-${n}`, upToId: 2 } }),
  });
  // A first run of each has the scripts known to the server, and connections opened.
  await sentBy(redis, api.prefix, steps(1), isOfMarket);
  for (const reader of readers.splice(0)) reader.close();
  socket.socket.terminate();
  const found = await sentBy(redis, api.prefix, steps(2), isOfMarket);
  expect(found).toEqual({
    send: ['evalsha'],
    receive: ['evalsha'],
    ack: ['evalsha'],
    status: ['evalsha'],
    // The index of each member, then the chat.
    create: ['evalsha', 'evalsha', 'evalsha'],
    post: ['evalsha'],
    // A chat that is younger than a second is looked up once more.
    pending: expect.arrayContaining(['zrange', 'hgetall', 'zmscore', 'lrange']),
    cursor: ['evalsha'],
    chatsOf: ['zrange', 'hgetall', 'zmscore', 'llen', 'zcount'],
    history: ['evalsha'],
    typing: ['evalsha'],
    // The index, where the chat and the member stand, and the messages.
    'events: a stream begins': ['subscribe', 'evalsha', 'subscribe', 'zmscore', 'evalsha'],
    'events: a second one of the member': ['evalsha', 'zmscore'],
    'socket: subscribe': ['evalsha', 'zmscore'],
    'socket: post, to three streams': ['evalsha'],
    // Tokens need no longer name what is acked.
    'socket: ack': ['evalsha'],
  });
  for (const reader of readers) reader.close();
  socket.socket.terminate();
});
