/**
 * Fake Garage: a text to one person, and a group chat, of two programs that talk to the API and nothing else. Frank follows
 * over server-sent events and posts with requests; Bill does both over a WebSocket. In the middle of it the API is killed
 * with SIGKILL and started again. Neither loses a message, neither sees one twice, because
 *
 * - each resumes after the token of the last event that it has handled, and
 * - what got no answer is posted again under the same id.
 *
 * Run it with `npm run example`, after `npm run build`, beside a Redis at REDIS_URL.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';

import { WebSocket } from 'ws';

import { Server } from './server.js';

const EACH = 40;
const CHAT = 'garage';

interface ChatEvent {
  readonly type: string;
  /** Of the ids: another chat of the name would have another one. */
  readonly epoch: number;
  readonly message: { readonly id: number };
  readonly token: string;
}

const server = new Server('garage');

/** One request; tried again, under the same key, until there is an answer that isn't the server's fault. */
async function request<T>(method: string, path: string, body?: object, key?: string): Promise<T> {
  const headers = {
    ...(body && { 'content-type': 'application/json' }),
    ...(key !== undefined && { 'idempotency-key': key }),
  };
  for (;;) {
    try {
      const response = await fetch(server.url + path, {
        method,
        headers,
        ...(body && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (response.ok) return (text === '' ? undefined : JSON.parse(text)) as T;
      if (response.status < 500) throw new TypeError(text);
    } catch (error) {
      if (error instanceof TypeError && error.message.startsWith('{')) throw error;
    }
    await pause(50);
  }
}

/** A client that continues after its last handled event. */
abstract class Client {
  readonly ids: number[] = [];
  connections = 0;
  protected token: string | undefined;
  protected epoch: number | undefined;
  protected readonly gone = new AbortController();

  constructor(
    readonly name: string,
    readonly member: string,
  ) {}

  abstract post(body: object, id: string): Promise<void>;
  abstract ack(upToId: number): Promise<void>;
  /** One connection, from its beginning to its end. Throws when there is none. */
  protected abstract connect(): Promise<void>;

  /** Follows until `leave`, however often the connection breaks. */
  async follow(): Promise<void> {
    while (!this.gone.signal.aborted) {
      // Any error ends the connection; the next one continues after the last event.
      await this.connect().catch(() => undefined);
      if (!this.gone.signal.aborted) await pause(50);
    }
  }

  leave(): void {
    this.gone.abort();
  }

  /** The event first, then its token: a program that dies in between handles the event again. */
  protected handle({ type, epoch, message, token }: ChatEvent): void {
    if (type === 'message') {
      this.ids.push(message.id);
      this.epoch = epoch;
    }
    this.token = token;
  }
}

/** Frank: events by SSE, all else by requests. */
class EventClient extends Client {
  async post(body: object, id: string): Promise<void> {
    await request('POST', `/v1/chats/${CHAT}/messages`, { sender: this.member, body }, id);
  }

  async ack(upToId: number): Promise<void> {
    await request('PUT', `/v1/chats/${CHAT}/members/${this.member}/cursor`, { upToId, epoch: this.epoch });
  }

  protected async connect(): Promise<void> {
    const response = await fetch(`${server.url}/v1/members/${this.member}/events`, {
      headers: this.token === undefined ? {} : { 'last-event-id': this.token },
      signal: this.gone.signal,
    });
    this.connections += 1;
    let rest = '';
    for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
      const blocks = (rest + text).split('\n\n');
      rest = blocks.pop()!;
      for (const block of blocks) {
        const [, token, data] = /^id: (.*)\nevent: .*\ndata: (.*)$/.exec(block) ?? [];
        if (token && data) this.handle({ ...(JSON.parse(data) as ChatEvent), token });
      }
    }
  }
}

/** Bill: one WebSocket for everything. */
class SocketClient extends Client {
  #socket: WebSocket | undefined;
  #closed: Promise<void> = Promise.resolve();
  readonly #waiting = new Map<string, () => void>();

  async post(body: object, id: string): Promise<void> {
    await this.#send({ post: { chatId: CHAT, body, id } });
  }

  async ack(upToId: number): Promise<void> {
    await this.#send({ ack: { chatId: CHAT, upToId, epoch: this.epoch } });
  }

  /** Repeats the frame on each connection until it is answered. */
  async #send(frame: object): Promise<void> {
    const ref = randomUUID();
    const answered = new Promise<void>((resolve) => this.#waiting.set(ref, resolve));
    for (;;) {
      const socket = this.#socket;
      if (socket?.readyState === WebSocket.OPEN) {
        socket.send(JSON.stringify({ ...frame, ref }));
        const isAnswered = await Promise.race([answered.then(() => true), this.#closed.then(() => false)]);
        if (isAnswered) return;
      }
      await pause(50);
    }
  }

  protected async connect(): Promise<void> {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/v1/ws`);
    this.#socket = socket;
    this.#closed = new Promise((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => undefined);
    socket.on('open', () => {
      this.connections += 1;
      socket.send(JSON.stringify({ subscribe: this.member, after: this.token }));
    });
    socket.on('message', (data: Buffer) => {
      const { event, ref, posted, acked } = JSON.parse(data.toString());
      if (event) this.handle(event as ChatEvent);
      if (posted ?? acked) this.#waiting.get(ref as string)?.();
    });
    const leave = (): void => socket.close();
    this.gone.signal.addEventListener('abort', leave);
    await this.#closed;
    this.gone.signal.removeEventListener('abort', leave);
  }
}

function report({ name, ids, connections }: Client, last: number): void {
  const lost = Array.from({ length: last }, (_, n) => n + 1).filter((id) => !ids.includes(id));
  const twice = ids.length - new Set(ids).size;
  const isOrdered = ids.every((id, index) => index === 0 || id > ids[index - 1]!);
  const order = isOrdered ? 'in order' : 'out of order';
  console.log(
    `${name}: ${ids.length} messages ${order}, ${lost.length} lost, ${twice} twice, ${connections} connections`,
  );
}

await server.start();

// A text. It stays unread until Bill receives it.
await request('POST', '/v1/mailboxes/bill/messages', {
  from: 'frank',
  body: 'The Bug makes that noise again.',
});
const { items } = await request<{ items: { id: number; from: string; body: string }[] }>(
  'GET',
  '/v1/mailboxes/bill/messages?waitMs=5000',
);
for (const { id, from, body } of items) {
  console.log(`a text from ${from}: ${body}`);
  await request('POST', '/v1/mailboxes/bill/ack', { upToId: id });
}

// A group chat. Mia creates it, and leaves.
const creation = {
  sender: 'mia',
  members: ['frank', 'bill'],
  chatId: CHAT,
  body: { text: 'It is all yours.' },
};
await request('POST', '/v1/chats', creation);
await request('DELETE', `/v1/chats/${CHAT}/members/mia`);
const frank = new EventClient('frank, by SSE', 'frank');
const bill = new SocketClient('bill, by WebSocket', 'bill');
const clients = [frank, bill];
const subscriptions = clients.map((client) => client.follow());
// Both read the first message, and then talk.
while (clients.some(({ ids }) => ids.length === 0)) await pause(20);

let answered = 0;
let isKilled: Promise<void> | undefined;
async function talk(client: Client): Promise<void> {
  for (let n = 1; n <= EACH; n += 1) {
    await client.post({ text: `${client.member} says ${n}` }, `${client.member}-${n}`);
    answered += 1;
    // Both continue to talk meanwhile.
    if (answered === EACH) isKilled = killAndStart();
  }
}
async function killAndStart(): Promise<void> {
  await server.end('SIGKILL');
  await server.start();
}
await Promise.all(clients.map(talk));
await isKilled;
console.log(`the API was killed after ${EACH} messages, and started again`);

const last = 1 + 2 * EACH;
while (clients.some(({ ids }) => ids.at(-1) !== last)) await pause(20);
for (const client of clients) report(client, last);

// Both ack all messages, so Redis stores none.
await Promise.all(clients.map((client) => client.ack(last)));
const pending = await Promise.all(
  clients.map(({ member }) => request<{ items: unknown[] }>('GET', `/v1/members/${member}/pending`)),
);
console.log(`unread: ${pending.flatMap((page) => page.items).length}`);

for (const { member } of clients) await request('DELETE', `/v1/chats/${CHAT}/members/${member}`);
for (const client of clients) client.leave();
await Promise.all(subscriptions);
await server.end('SIGTERM');

// Output:
// a text from frank: The Bug makes that noise again.
// the API was killed after 40 messages, and started again
// frank, by SSE: 81 messages in order, 0 lost, 0 twice, 2 connections
// bill, by WebSocket: 81 messages in order, 0 lost, 0 twice, 2 connections
// unread: 0
