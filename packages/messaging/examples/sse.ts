/** Chats in a browser: server-sent events, and a token that lets a client continue where its connection was cut. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Chats } from '@mortise/messaging';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const chats = new Chats<string>(redis, { prefix: `example-${randomUUID()}` });

async function stream(request: IncomingMessage, response: ServerResponse): Promise<void> {
  // Your application knows the member from the session.
  const member = new URL(request.url!, 'http://localhost').searchParams.get('member')!;
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const after = request.headers['last-event-id'];
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  response.flushHeaders();
  for await (const event of chats.follow(member, {
    signal: gone.signal,
    ...(typeof after === 'string' && { after }),
  })) {
    const { token, type } = event;
    const isRoomLeft = response.write(`id: ${token}\nevent: ${type}\ndata: ${JSON.stringify(event)}\n\n`);
    // A slow client holds up only itself: events that it missed are read from the chat.
    if (!isRoomLeft) await once(response, 'drain', { signal: gone.signal }).catch(() => undefined);
  }
  response.end();
}

const streams: Promise<void>[] = [];
const server = createServer((request, response) => void streams.push(stream(request, response)));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/?member=jack`;

/** A browser's `EventSource` does this: it prints messages, and returns the id of the last one when its connection is cut. */
async function read(messages: number, lastEventId?: string): Promise<string> {
  const response = await fetch(url, { ...(lastEventId && { headers: { 'last-event-id': lastEventId } }) });
  let [text, printed, token] = ['', 0, ''];
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const events = text.split('\n\n');
    text = events.pop()!;
    for (const event of events) {
      const [, id = '', type, data = ''] = /^id: (.*)\nevent: (.*)\ndata: (.*)$/.exec(event)!;
      if (type !== 'message') continue;
      token = id;
      console.log((JSON.parse(data) as { message: { body: string } }).message.body);
      printed += 1;
      if (printed === messages) return token;
    }
  }
  return token;
}

const { chatId } = await chats.create({ sender: 'jill', members: ['jack'], body: 'Lunch?' });
const token = await read(1);
console.log('the connection is cut');
await chats.post(chatId, 'jill', 'At noon?');
await chats.post(chatId, 'jill', 'Jack?');
await read(2, token);

server.closeAllConnections();
await once(server.close(), 'close');
await Promise.all(streams);
await redis.quit();

// Output:
// Lunch?
// the connection is cut
// At noon?
// Jack?
