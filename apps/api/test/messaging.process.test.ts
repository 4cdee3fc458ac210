/** The program as it is run, with clients that stay: how it ends, and what is left when it is killed. It is the build. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { afterAll, expect, test } from '@jest/globals';
import { freshPrefix } from '@mortise/test-kit';

import { LONG_TIMEOUTS, send } from './fixture/api.js';
import { REDIS_URL, until } from './fixture/redis.js';
import { EventReader, SocketClient } from './fixture/streams.js';

const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const children = new Set<ChildProcess>();
const STREAMS = 200;
/** Less than that for which connections would be waited for: of these there is no end. */
const END_MS = 60_000;

afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

function run(path: string, env: Record<string, string>): ChildProcess {
  const child = spawn(process.execPath, [fileOf(path)], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

async function boot(): Promise<{ child: ChildProcess; url: string }> {
  const child = run('../dist/main.js', {
    REDIS_URL,
    PORT: '0',
    MORTISE_PREFIX: freshPrefix(),
    ...LONG_TIMEOUTS,
  });
  for await (const line of createInterface({ input: child.stdout! })) {
    const { msg, url } = JSON.parse(line) as { msg: string; url: string };
    if (msg !== 'listening') continue;
    child.stdout!.resume();
    return { child, url };
  }
  throw new Error('it ended before it listened');
}

test('SIGTERM ends 200 streams of each kind, also those that nobody reads, and the program', async () => {
  const { child, url } = await boot();
  const create = async (chatId: string, member: string): Promise<boolean> => {
    const body = { sender: 'frank', members: [member], chatId };
    return (await send(url, { method: 'POST', path: '/v1/chats', body })).status < 300;
  };
  await until('Redis', () => create('garage', 'bill'));
  await create('attic', 'lazy');
  const post = (chatId: string, body: unknown): Promise<unknown> =>
    send(url, { method: 'POST', path: `/v1/chats/${chatId}/messages`, body: { sender: 'frank', body } });
  const readers = await Promise.all(
    Array.from({ length: STREAMS }, () => EventReader.open(url, '/v1/members/bill/events')),
  );
  const sockets = await Promise.all(
    Array.from({ length: STREAMS }, () => SocketClient.subscribe(url, 'bill')),
  );
  await post('garage', 'hello');
  await Promise.all([...readers, ...sockets].map((stream) => stream.count(1)));
  // These clients never read the end.
  const deafReader = await EventReader.open(url, '/v1/members/lazy/events');
  const deafSocket = await SocketClient.subscribe(url, 'lazy');
  deafReader.response.pause();
  deafSocket.socket.pause();
  for (let n = 0; n < 150; n += 50)
    await Promise.all(Array.from({ length: 50 }, () => post('attic', 'x'.repeat(60_000))));

  const startedAt = performance.now();
  child.kill('SIGTERM');
  const [code] = (await once(child, 'exit')) as [number];
  expect([code, performance.now() - startedAt < END_MS]).toEqual([0, true]);
  await Promise.all(readers.map((reader) => reader.end()));
  const closed = await Promise.all(sockets.map((client) => client.close()));
  expect(new Set(closed.map(({ code: how, reason }) => `${how} ${reason}`))).toEqual(
    new Set(['1001 shutting down']),
  );
  expect(new Set(readers.map(({ events }) => JSON.stringify(events.at(-1))))).toEqual(
    new Set([JSON.stringify({ event: 'dropped', data: { reason: 'shutting-down' } })]),
  );
  deafSocket.socket.terminate();
  deafReader.close();
}, 200_000);

test('two clients of the Fake Garage lose nothing and see nothing twice when the API is killed', async () => {
  const child = run('../dist/examples/fake-garage.js', { REDIS_URL, ...LONG_TIMEOUTS });
  const [printed, [code]] = await Promise.all([text(child.stdout!), once(child, 'exit')]);
  const [, output = ''] = readFileSync(fileOf('../examples/fake-garage.ts'), 'utf8').split('// Output:\n');
  expect(
    printed
      .trimEnd()
      .split('\n')
      .map((line) => `// ${line}`),
  ).toEqual(output.trimEnd().split('\n'));
  expect(code).toBe(0);
}, 200_000);
