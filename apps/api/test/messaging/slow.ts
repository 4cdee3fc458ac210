/** Clients that take their events slowly, and clients that take none: over SSE and WebSocket. */
import type { Socket } from 'node:net';

import { describe, expect, test } from '@jest/globals';
import { until } from '@mortise/test-kit';

import { LiveStreams } from '../../src/messaging/live/live-streams.js';
import type { Api } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';
import { EventReader, SocketClient } from '../fixture/streams.js';
import { startUplink } from '../fixture/uplink.js';

type Kind = 'sse' | 'ws';

/** A client that stops reading on request. */
interface Client {
  readonly messages: string[];
  pause(): void;
  resume(): void;
  /** Calls back for each piece that arrived. */
  onData(listen: () => void): void;
  close(): void;
}

const api = await startApi();
const start = (env: Record<string, string> = {}): Promise<Api> =>
  startApi({ MORTISE_PREFIX: api.prefix, ...env });

async function open(kind: Kind, url: string, member: string): Promise<Client> {
  if (kind === 'ws') {
    const client = await SocketClient.subscribe(url, member);
    const { socket } = client;
    return {
      get messages() {
        return client.messages;
      },
      pause: () => socket.pause(),
      resume: () => socket.resume(),
      onData: (listen) => void socket.on('message', listen),
      close: () => socket.terminate(),
    };
  }
  const reader = await EventReader.open(url, `/v1/members/${member}/events`);
  const { response } = reader;
  return {
    get messages() {
      return reader.messages;
    },
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    onData: (listen) => void response.on('data', listen),
    close: () => reader.close(),
  };
}

async function post(chatId: string, count: number, bytes: number): Promise<void> {
  const body = { sender: 'frank', body: 'x'.repeat(bytes) };
  const path = `/v1/chats/${chatId}/messages`;
  await Promise.all(Array.from({ length: count }, () => api.send({ method: 'POST', path, body })));
}

async function create(chatId: string, ...members: string[]): Promise<void> {
  await api.send({ method: 'POST', path: '/v1/chats', body: { sender: 'frank', members, chatId } });
}

describe.each<Kind>(['sse', 'ws'])('over %s', (kind) => {
  test('a slow reader gets everything, even if the server receives nothing from it for a long time', async () => {
    const strict = await start({ STREAM_TIMEOUT_MS: '1000', STREAM_HEARTBEAT_MS: '100' });
    const streams = strict.app.get(LiveStreams);
    const chatId = `steady-${kind}`;
    await create(chatId, `sue-${kind}`);
    // More than what the buffers of the system hold.
    const total = 250;
    for (let sent = 0; sent < total; sent += 50) await post(chatId, 50, 60_000);
    const clock = await EventReader.open(strict.url, '/v1/members/nobody/events');
    const sue = await open(kind, strict.url, `sue-${kind}`);
    let isSlow = true;
    sue.onData(() => isSlow && sue.pause());
    sue.pause();
    // 60 KB or so for each tenth of a second: the system tells of it only once it was more than a megabyte.
    for (let piece = 0; piece < 40; piece += 1) {
      const next = clock.beats + 1;
      await until('a beat', async () => clock.beats >= next);
      expect([piece, streams.ending, streams.size]).toEqual([piece, 0, 2]);
      sue.resume();
    }
    expect(sue.messages.length).toBeLessThan(total / 2);
    isSlow = false;
    sue.resume();
    await until('all of them', async () => sue.messages.length === total);
    expect(sue.messages).toEqual(Array.from({ length: total }, (_, n) => `${chatId}/${n + 1}`));
    sue.close();
    clock.close();
  });

  test('a client that takes nothing is dropped, also when little waits for it and nothing more comes', async () => {
    const strict = await start({ STREAM_TIMEOUT_MS: '300', STREAM_HEARTBEAT_MS: '1000' });
    const streams = strict.app.get(LiveStreams);
    const sockets: Socket[] = [];
    strict.app.getHttpServer().on('connection', (socket: Socket) => sockets.push(socket));
    const chatId = `stalled-${kind}`;
    await create(chatId, `sam-${kind}`);
    const reader = await open('sse', api.url, `sam-${kind}`);
    const sam = await open(kind, strict.url, `sam-${kind}`);
    sam.pause();
    // The server counts a client that it gave up for some seconds only, so the test reads the count all the time.
    const seen = new Set<number>();
    const look = setInterval(() => seen.add(streams.ending), 20).unref();
    // Less at a time than what makes the server wait for a client.
    for (let sent = 10; !seen.has(1); sent += 10) {
      await post(chatId, 10, 4_000);
      await until('the reader', async () => reader.messages.length === sent);
      if (sockets.some(({ writableLength }) => writableLength > 0)) break;
    }
    await until('the server to give it up', async () => seen.has(1));
    clearInterval(look);
    expect(reader.messages.length).toBeGreaterThan(0);
    sam.close();
    reader.close();
  });
});

describe('a WebSocket whose client sends', () => {
  test('and whose answers to pings wait for its other bytes, on a slow way, lives', async () => {
    const strict = await start({ STREAM_TIMEOUT_MS: '1000', STREAM_HEARTBEAT_MS: '100' });
    const streams = strict.app.get(LiveStreams);
    await create('uphill', 'uma');
    const uplink = await startUplink(strict.url);
    const clock = await EventReader.open(strict.url, '/v1/members/nobody/events');
    const uma = await SocketClient.subscribe(uplink.url, 'uma');
    uplink.hold();
    uma.say({ post: { chatId: 'uphill', body: 'x'.repeat(60_000) }, ref: 'mine' });
    // Some 3 s, in which a ping has no answer.
    for (let piece = 0; piece < 30; piece += 1) {
      const next = clock.beats + 1;
      await until('a beat', async () => clock.beats >= next);
      uplink.pass(1_900);
      expect([piece, streams.ending, uma.closed]).toEqual([piece, 0, undefined]);
    }
    uplink.release();
    await until('the answer', async () => uma.frames.some(({ ref }) => ref === 'mine'));
    expect(uma.closed).toBeUndefined();
    uma.socket.terminate();
    clock.close();
    await uplink.stop();
  });

  test('and never reads is dropped all the same', async () => {
    const strict = await start({ STREAM_TIMEOUT_MS: '100', STREAM_HEARTBEAT_MS: '20' });
    const streams = strict.app.get(LiveStreams);
    await create('monologue', 'mona');
    const clock = await EventReader.open(strict.url, '/v1/members/nobody/events');
    const mona = await SocketClient.subscribe(strict.url, 'mona');
    mona.socket.pause();
    const say = (): void => mona.say({ typing: 'monologue' });
    clock.response.on('data', say);
    await until('the server to give it up', async () => streams.ending === 1);
    expect(mona.closed).toBeUndefined();
    clock.response.off('data', say);
    mona.socket.terminate();
    clock.close();
  });
});
