import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Chats } from '@mortise/messaging';
import type { ChatEvent } from '@mortise/messaging';
import { Redis } from 'ioredis';
import { Server } from 'socket.io';
import type { Socket } from 'socket.io';
import { io as connect } from 'socket.io-client';

const server = createServer().listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const chats = new Chats<string>(redis);

/** Your application knows the member from the session. */
async function serve(socket: Socket): Promise<void> {
  const { member, token } = socket.handshake.auth;
  const gone = new AbortController();
  socket.on('disconnect', () => gone.abort());
  // The id is the client's: it may post again after a lost reply.
  socket.on('post', (chatId: string, body: string, id: string) => {
    chats.post(chatId, member, body, { id }).catch((error: unknown) => socket.emit('failed', String(error)));
  });
  for await (const event of chats.follow(member, { signal: gone.signal, ...(token && { after: token }) })) {
    socket.emit('chat', event);
  }
}

const io = new Server(server);
io.on('connection', (socket) => void serve(socket).catch(() => socket.disconnect()));

const { chatId } = await chats.create({ sender: 'jill', members: ['jack'] });
const jill = connect(url, { forceNew: true, auth: { member: 'jill' } });
const post = (body: string) => jill.emit('post', chatId, body, randomUUID());

/** The browser of Jack, until it has shown what Jill posts now. Returns the token of the last event that it has shown. */
async function show(last: string, token?: string): Promise<string> {
  const jack = connect(url, { forceNew: true, auth: { member: 'jack', token } });
  jack.on('connect', () => post(last));
  const shown = await new Promise<string>((resolve) => {
    jack.on('chat', (event: ChatEvent<string>) => {
      if (event.type !== 'message') return;
      console.log('jack gets', event.message.body);
      if (event.message.body === last) resolve(event.token);
    });
  });
  jack.disconnect();
  return shown;
}

const token = await show('Lunch?');
post('At noon?');
await show('Or at one?', token);

jill.disconnect();
await io.close();
await redis.quit();

// Output:
// jack gets Lunch?
// jack gets At noon?
// jack gets Or at one?
