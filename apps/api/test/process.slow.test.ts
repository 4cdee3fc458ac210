/** The program as it is run: how it starts and ends, with requests, streams and transfers under way, and when it is killed. */
import { once } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent, get, request } from 'node:http';
import type { Socket } from 'node:net';
import { connect as connectTo } from 'node:net';
import { text } from 'node:stream/consumers';

import { beforeAll, describe, expect, test } from '@jest/globals';
import { connect, freshPrefix, until } from '@mortise/test-kit';

import { DEFAULT_TIMEOUTS } from './fixture/api.js';
import type { Downloading } from './fixture/files.js';
import { digestOf, MIB, numbered, RemoteChannel } from './fixture/files.js';
import type { Program } from './fixture/program.js';
import { boot, run, runExample } from './fixture/program.js';
import { keysOf, REDIS_URL } from './fixture/redis.js';
import { EventReader, SocketClient } from './fixture/streams.js';

const redis = connect();
const STREAMS = 200;
/** Many programs at once on a busy machine. */
const BOOT_DEADLINE_MS = 240_000;
/** Less than that for which Fastify, left alone, would keep idle connections. */
const KEEP_ALIVE_MS = 40_000;
/** An end within this time, ms, shows that the program does not wait for open connections, which never end. */
const END_MS = 60_000;

function begin(url: string, agent: Agent, body: string): ClientRequest {
  const outgoing = request(`${url}/v1/market/players/frank`, {
    agent,
    method: 'PUT',
    headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
  });
  outgoing.on('error', () => undefined);
  return outgoing;
}

describe('the program', () => {
  /** Sends so many requests that their lines don't fit into the pipe, which nobody reads from now on. */
  async function fillLog({ child, url }: Program): Promise<void> {
    child.stdout!.removeAllListeners('data').pause();
    const { hostname, port } = new URL(url);
    const ask = `GET /health/live HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: ${'x'.repeat(64)}\r\n`;
    const socket = connectTo(Number(port), hostname);
    socket.write(`${ask}\r\n`.repeat(1_499) + `${ask}Connection: close\r\n\r\n`);
    expect((await text(socket)).match(/HTTP\/1\.1 200 /g)).toHaveLength(1_500);
  }

  // They start side by side, because most of a start is waiting for a core to load the modules.
  let programs: Program[];
  beforeAll(async () => {
    const envs: Record<string, string>[] = [
      {},
      { ...DEFAULT_TIMEOUTS, REQUEST_DEADLINE_MS: '4000' },
      { ...DEFAULT_TIMEOUTS, REDIS_URL: 'redis://127.0.0.1:1' },
      { SHUTDOWN_DELAY_MS: '3000' },
    ];
    programs = await Promise.all(envs.map(boot));
  }, BOOT_DEADLINE_MS);

  test('refuses a wrong environment with all that is wrong, and exit code 1', async () => {
    const child = run('main', {
      PORT: 'x',
      LOG_LEVEL: 'loud',
      REDIS_URL: 'http://x',
      REDIS_SENTINEL_NAME: 'main',
    });
    const [stderr, stdout, [code]] = await Promise.all([
      text(child.stderr!),
      text(child.stdout!),
      once(child, 'exit'),
    ]);
    expect(code).toBe(1);
    expect(stdout).toBe('');
    const [head, ...rest] = stderr.trimEnd().split('\n');
    expect(head).toBe('the settings are not valid:');
    expect(rest.map((line) => line.trim().split(':')[0])).toEqual(['PORT', 'LOG_LEVEL', 'REDIS_URL']);
  });

  test('ends with exit code 1 when its port is taken', async () => {
    const { url } = programs[0]!;
    const child = run('main', { REDIS_URL, PORT: new URL(url).port });
    const [stderr, [code]] = await Promise.all([text(child.stderr!), once(child, 'exit')]);
    expect(code).toBe(1);
    expect(stderr).toContain('EADDRINUSE');
  });

  test('logs a line of JSON with the settings of Redis and one with its address, then one for each request, never a body or an address of a mail', async () => {
    const { url, lines } = programs[0]!;
    const isOfRedis = ({ msg }: { msg: string }): boolean => msg === 'redis settings against loss';
    // A busy machine may need more than the second for which the API waits for Redis.
    await until('the settings', async () => lines.some(isOfRedis));
    expect(lines.filter(isOfRedis)).toEqual([
      expect.objectContaining({
        app: 'api',
        appendonly: 'no',
        replicas: '0',
        'maxmemory-policy': 'noeviction',
      }),
    ]);
    expect(lines.filter((line) => !isOfRedis(line))).toEqual([
      expect.objectContaining({ app: 'api', msg: 'listening', url, openapi: `${url}/openapi.json` }),
    ]);
    const body = JSON.stringify({ name: 'Canary', email: 'canary@example.com' });
    const headers = { 'content-type': 'application/json', authorization: 'canary' };
    await fetch(`${url}/v1/market/players/frank`, { method: 'PUT', headers, body });
    await fetch(`${url}/v1/market/players/frank`, { method: 'PUT', headers, body: body.slice(1) });
    await fetch(`${url}/v1/market/players/frank?canary`, { method: 'PUT', headers, body });
    await until('three more lines', async () => lines.length === 5);
    const line = {
      app: 'api',
      msg: 'request',
      method: 'PUT',
      route: '/v1/market/players/:id',
      reqId: expect.any(String),
    };
    expect(lines.filter(({ msg }) => msg === 'request')).toMatchObject([
      { ...line, status: 201 },
      { ...line, status: 400 },
      { ...line, status: 400 },
    ]);
    expect(JSON.stringify(lines).toLowerCase()).not.toContain('canary');
  });

  test('on SIGTERM answers what has begun, closes what is idle, and does not wait for what never arrives whole', async () => {
    const { url, end } = programs[1]!;
    const agent = new Agent({ keepAlive: true });
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const [response] = (await once(get(`${url}/health/live`, { agent }), 'response')) as [
          IncomingMessage,
        ];
        return text(response);
      }),
    );
    expect(Object.values(agent.freeSockets).flat()).toHaveLength(20);
    const body = JSON.stringify({ name: 'Frank', email: 'frank@example.com' });
    const inFlight = begin(url, new Agent({ keepAlive: true }), body);
    inFlight.write(body.slice(0, 10));
    const answered = once(inFlight, 'response') as Promise<[IncomingMessage]>;
    const unfinished = begin(url, new Agent({ keepAlive: true }), body);
    unfinished.write(body.slice(0, 10));
    const closed: string[] = [];
    await Promise.all(
      Object.entries({ answered: inFlight, unfinished }).map(async ([name, outgoing]) => {
        const [socket] = (await once(outgoing, 'socket')) as [Socket];
        socket.on('close', () => closed.push(name));
      }),
    );
    // Once another request is answered, the one that began before it has arrived.
    await fetch(`${url}/health/ready`);

    const ended = end('SIGTERM');
    await until('no more connections', async () => {
      try {
        await fetch(`${url}/health/live`);
        return false;
      } catch {
        return true;
      }
    });
    inFlight.end(body.slice(10));
    const [response] = await answered;
    expect([response.statusCode, JSON.parse(await text(response))]).toMatchObject([201, { id: 'frank' }]);
    const { code, ms } = await ended;
    expect(code).toBe(0);
    expect(ms).toBeLessThan(KEEP_ALIVE_MS);
    // It is closed as it falls idle, rather than after the grace that unfinished requests have.
    await until('both connections to be closed', async () => closed.length === 2);
    expect(closed).toEqual(['answered', 'unfinished']);
    agent.destroy();
  });

  test('ends as fast on SIGINT, and while Redis is away', async () => {
    const { url, end } = programs[2]!;
    expect((await fetch(`${url}/health/ready`)).status).toBe(503);
    const { code, ms } = await end('SIGINT');
    expect(code).toBe(0);
    expect(ms).toBeLessThan(KEEP_ALIVE_MS);
  });

  test('says that it is not ready for SHUTDOWN_DELAY_MS, serves meanwhile, then ends waits for a lock, though the reader of its log has gone', async () => {
    const { child, url, end } = programs[3]!;
    await fillLog(programs[3]!);
    child.stdout!.destroy();
    const take = (waitMs: number): Promise<Response> =>
      fetch(`${url}/v1/locks/busy/acquire`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ leaseMs: 60_000, waitMs }),
      });
    await take(0);
    const waiting = take(30_000);
    const look = async (): Promise<{ queueLength: number }> =>
      (await fetch(`${url}/v1/locks/busy`)).json() as Promise<{ queueLength: number }>;
    await until('the wait', async () => (await look()).queueLength === 1);
    const ended = end('SIGTERM');
    const notReady = await until('503', async () => {
      const response = await fetch(`${url}/health/ready`);
      return response.status === 503 && ((await response.json()) as { type: string });
    });
    expect(notReady.type).toBe('https://mortise.dev/problems/shutting-down');
    expect((await fetch(`${url}/v1/queues/mail`)).status).toBe(200);
    expect((await ended).code).toBe(0);
    const answer = await waiting;
    expect([answer.status, await answer.json()]).toMatchObject([503, { type: notReady.type }]);
  });

  test('ends at once by a second signal', async () => {
    const { child, url } = await boot({ SHUTDOWN_DELAY_MS: '60000' });
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await until('503', async () => (await fetch(`${url}/health/ready`)).status === 503);
    child.kill('SIGINT');
    expect(await ended).toEqual([null, 'SIGINT']);
  });

  test('ends on SIGTERM, and answers until then, while nobody reads its log', async () => {
    await fillLog(programs[0]!);
    expect((await programs[0]!.end('SIGTERM')).code).toBe(0);
  });
});

test('SIGTERM ends 200 streams of each kind, also those that nobody reads, transfers with 503, and the program', async () => {
  const prefix = freshPrefix();
  const program = await boot({ MORTISE_PREFIX: prefix });
  const { url, send, end } = program;
  const create = async (chatId: string, member: string): Promise<boolean> => {
    const body = { sender: 'frank', members: [member], chatId };
    return (await send({ method: 'POST', path: '/v1/chats', body })).status < 300;
  };
  await until('Redis', () => create('garage', 'bill'));
  await create('attic', 'lazy');
  const post = (chatId: string, body: unknown): Promise<unknown> =>
    send({ method: 'POST', path: `/v1/chats/${chatId}/messages`, body: { sender: 'frank', body } });
  const readers = await Promise.all(
    Array.from({ length: STREAMS }, () => EventReader.open(url, '/v1/members/bill/events')),
  );
  const sockets = await Promise.all(
    Array.from({ length: STREAMS }, () => SocketClient.subscribe(url, 'bill')),
  );
  await post('garage', 'hello');
  const streams = [...readers, ...sockets];
  await until(
    'an event of each stream',
    async () => streams.every(({ events }) => events.length > 0),
    240_000,
  );
  // These clients never read the end.
  const deafReader = await EventReader.open(url, '/v1/members/lazy/events');
  const deafSocket = await SocketClient.subscribe(url, 'lazy');
  deafReader.response.pause();
  deafSocket.socket.pause();
  for (let n = 0; n < 150; n += 50)
    await Promise.all(Array.from({ length: 50 }, () => post('attic', 'x'.repeat(60_000))));

  const logs = new RemoteChannel(program, 'logs');
  await logs.join('ann');
  const uploading = logs.begin('kept.log', { 'idempotency-key': 'kept' });
  await uploading.write(numbered(MIB));
  await logs.bytes(1, MIB / 2);
  const download = await logs.open(1, 'ann');
  await download.reached(MIB / 2);

  const { code, ms } = await end('SIGTERM');
  expect(code).toBe(0);
  expect(ms).toBeLessThan(END_MS);
  expect((await download.ended()).end).toBe('broken');
  expect(await uploading.answer).toMatchObject({
    status: 503,
    json: { type: 'https://mortise.dev/problems/shutting-down' },
  });
  // With a key it is kept for whoever goes on with it.
  expect((await keysOf(redis, prefix)).some((key) => key.includes(':chunk:'))).toBe(true);
  await until('the ends of the streams', async () => readers.every(({ isEnded }) => isEnded));
  const closed = await Promise.all(sockets.map((client) => client.close()));
  expect(new Set(closed.map(({ code: how, reason }) => `${how} ${reason}`))).toEqual(
    new Set(['1001 shutting down']),
  );
  expect(new Set(readers.map(({ events }) => JSON.stringify(events.at(-1))))).toEqual(
    new Set([JSON.stringify({ event: 'dropped', data: { reason: 'shutting-down' } })]),
  );
  deafSocket.socket.terminate();
  deafReader.close();
});

describe('another process, when the API is killed', () => {
  const prefix = freshPrefix();
  const body = numbered(6 * MIB);
  const headers = { 'idempotency-key': 'day-1', 'content-digest': digestOf(body) };
  let logs: RemoteChannel;
  let lost: RemoteChannel;
  let download: Downloading;
  let lostDownload: Downloading;

  beforeAll(async () => {
    const env = {
      MORTISE_PREFIX: prefix,
      FILE_RESUME_MS: '3000',
      FILE_BUDGET_BYTES: String(8 * MIB),
      FILE_WINDOW_BYTES: String(8 * MIB),
    };
    const [first, second] = await Promise.all([boot(env), boot(env)]);
    for (const { send } of [first, second])
      await until('readiness', async () => (await send({ path: '/health/ready' })).status === 200);
    [logs, lost] = [new RemoteChannel(first, 'logs'), new RemoteChannel(first, 'lost')];
    for (const channel of [logs, lost]) await channel.join('ann');
    const uploading = logs.begin('day-1.log', headers);
    await uploading.write(body.subarray(0, 4 * MIB));
    await logs.bytes(1, 3 * MIB);
    download = await logs.open(1, 'ann');
    await download.reached(2 * MIB);
    const losing = lost.begin('day-1.log');
    await losing.write(numbered(MIB));
    await lost.bytes(1, MIB / 2);
    lostDownload = await lost.open(1, 'ann');
    await lostDownload.reached(MIB / 2);
    await first.end('SIGKILL');
    expect((await download.ended()).end).toBe('broken');
    await expect(uploading.answer).rejects.toMatchObject({ code: 'ECONNRESET' });
    [logs, lost] = [new RemoteChannel(second, 'logs'), new RemoteChannel(second, 'lost')];
  }, BOOT_DEADLINE_MS);

  test('goes on with an upload that has a key, and with its download', async () => {
    const got = download.content;
    const range = { range: `bytes=${got.length}-` };
    // It is still there, although nobody writes it at present.
    const part = await (await logs.open(1, 'ann', { range: `bytes=${3 * MIB - 1}-` })).ended();
    expect(part.response.statusCode).toBe(206);
    const again = await logs.upload(body, 'day-1.log', headers);
    expect([again.status, again.json]).toMatchObject([201, { number: 1, bytes: 6 * MIB }]);
    expect(again.json.resumedAt).toBeGreaterThanOrEqual(3 * MIB);
    const rest = await (await logs.open(1, 'ann', range)).ended();
    expect(Buffer.concat([got, rest.content]).equals(body)).toBe(true);
    expect(rest.response.headers['repr-digest']).toBe(digestOf(body));
    await logs.done(1, 'ann');
    expect((await keysOf(redis, prefix)).filter((key) => key.includes('{logs%%'))).toEqual([]);
  });

  test('reports an upload without a key to its receivers, and has room again', async () => {
    const range = { range: `bytes=${(await lostDownload.ended()).bytes}-` };
    const aborted = await until('it to be given up', async () => {
      const answer = await lost.api.send({ path: lost.pathOf(1, 'ann'), headers: range });
      return answer.status === 409 && answer;
    });
    expect(aborted.json).toMatchObject({
      type: 'https://mortise.dev/problems/file-aborted',
      reason: 'The upload was lost',
    });
    await lost.done(1, 'ann');
    expect((await lost.upload('next')).status).toBe(201);
  });
});

test.each([
  ['two clients of the Fake Garage lose nothing and see nothing twice when the API is killed', 'fake-garage'],
  ['a log larger than its window arrives whole at both receivers when the API is killed', 'log-delivery'],
  ['guild members are completed, picked and refused as the example says', 'guild-mentions'],
])(
  '%s',
  async (_, example) => {
    const { printed, expected } = await runExample(example);
    expect(printed).toEqual(expected);
  },
  200_000,
);
