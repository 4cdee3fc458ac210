/** Rooms of Socket.IO as chats: a socket gets the events of all chats of its member, and continues after a cut connection. */
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { Chats } from '@mortise/messaging';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const chats = new Chats<string>(redis, { prefix: `example-${randomUUID()}` });

/** The members of a `Socket` of Socket.IO that are needed here. */
interface Socket {
  readonly handshake: { readonly auth: { readonly token?: string } };
  readonly data: { readonly member: string };
  emit(event: string, value: unknown): unknown;
  on(event: string, listener: (chatId: string, body: string, id: string) => void): unknown;
}

/** `io.on('connection', serve)`: the member is that of your session. */
async function serve(socket: Socket): Promise<void> {
  const { member } = socket.data;
  const { token } = socket.handshake.auth;
  const gone = new AbortController();
  socket.on('disconnect', () => gone.abort());
  // The id is the client's: it may post again after a lost reply.
  socket.on('post', (chatId, body, id) => {
    chats.post(chatId, member, body, { id }).catch((error: unknown) => socket.emit('failed', error));
  });
  for await (const event of chats.follow(member, { signal: gone.signal, ...(token && { after: token }) })) {
    socket.emit('chat', event);
  }
}

/** A socket without a network. `got` resolves with the token of the message `last`. */
function connect(member: string, last: string, token?: string): { socket: Socket; got: Promise<unknown[]> } {
  const events = new EventEmitter();
  const socket: Socket = {
    handshake: { auth: { ...(token && { token }) } },
    data: { member },
    on: (event, listener) => events.on(event, listener),
    emit: (event, value) => {
      if (event !== 'chat') return events.emit(event, value);
      const chat = value as { type: string; token: string; message?: { from: string; body: string } };
      if (!chat.message) return false;
      console.log(member, 'gets', chat.message.body);
      return chat.message.body === last && events.emit('last', chat.token);
    },
  };
  return { socket, got: once(events, 'last') };
}

// `socket.join(room)` is a membership that outlives the connection.
const { chatId } = await chats.create({ sender: 'jill', members: ['jack'], body: 'Lunch?' });
const first = connect('jack', 'Lunch?');
const served = serve(first.socket);
const [token] = (await first.got) as [string];
first.socket.emit('disconnect', 'transport close');
await served;

await chats.post(chatId, 'jill', 'At noon?');
const second = connect('jack', 'Yes!', token);
const servedAgain = serve(second.socket);
await chats.post(chatId, 'jack', 'Yes!');
await second.got;
second.socket.emit('disconnect', 'transport close');
await servedAgain;
await redis.quit();

// Output:
// jack gets Lunch?
// jack gets At noon?
// jack gets Yes!
