/** The program as it is run, when it ends in the middle of transfers. It is the build: `npm run build` comes first. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { afterAll, expect, test } from '@jest/globals';
import { connect, freshPrefix } from '@mortise/test-kit';

import { LONG_TIMEOUTS, send } from './fixture/api.js';
import { digestOf, MIB, numbered, RemoteChannel } from './fixture/files.js';
import { keysOf, REDIS_URL, until } from './fixture/redis.js';

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const redis = connect();
const children = new Set<ChildProcess>();

afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

interface Program {
  readonly child: ChildProcess;
  readonly logs: RemoteChannel;
}

async function boot(prefix: string, env: Record<string, string> = {}): Promise<Program> {
  const child = spawn(process.execPath, [MAIN], {
    env: { REDIS_URL, PORT: '0', MORTISE_PREFIX: prefix, ...LONG_TIMEOUTS, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.add(child);
  for await (const line of createInterface({ input: child.stdout })) {
    const { msg, url } = JSON.parse(line) as { msg: string; url: string };
    if (msg !== 'listening') continue;
    child.stdout.resume();
    const api = { url, send: (sent: Parameters<typeof send>[1]) => send(url, sent) };
    await until('readiness', async () => (await api.send({ path: '/health/ready' })).status === 200);
    return { child, logs: new RemoteChannel(api, 'logs') };
  }
  throw new Error('it ended before it listened');
}

async function kill({ child }: Program, signal: NodeJS.Signals = 'SIGKILL'): Promise<number | null> {
  const ended = once(child, 'exit');
  child.kill(signal);
  const [code] = (await ended) as [number | null];
  return code;
}

test('an upload and a download go on at another process when the API is killed', async () => {
  const prefix = freshPrefix();
  const first = await boot(prefix);
  await first.logs.join('ann');
  const body = numbered(6 * MIB);
  const headers = { 'idempotency-key': 'day-1', 'content-digest': digestOf(body) };
  const uploading = first.logs.begin('day-1.log', headers);
  await uploading.write(body.subarray(0, 4 * MIB));
  await first.logs.bytes(1, 3 * MIB);
  const download = await first.logs.open(1, 'ann');
  await download.reached(2 * MIB);
  await kill(first);
  expect((await download.ended()).end).toBe('broken');
  await expect(uploading.answer).rejects.toMatchObject({ code: 'ECONNRESET' });

  const { logs, child } = await boot(prefix);
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
  expect((await keysOf(redis, prefix)).filter((key) => key.includes('%%'))).toEqual([]);
  await kill({ child, logs });
}, 120_000);

test('an upload that is lost with its process is reported to receivers, and its room is free again', async () => {
  const prefix = freshPrefix();
  const env = {
    FILE_RESUME_MS: '200',
    FILE_BUDGET_BYTES: String(4 * MIB),
    FILE_WINDOW_BYTES: String(4 * MIB),
  };
  const first = await boot(prefix, env);
  await first.logs.join('ann');
  const uploading = first.logs.begin('day-1.log');
  await uploading.write(numbered(MIB));
  await first.logs.bytes(1, MIB / 2);
  const download = await first.logs.open(1, 'ann');
  await download.reached(MIB / 2);
  await kill(first);

  const second = await boot(prefix, env);
  const range = { range: `bytes=${(await download.ended()).bytes}-` };
  const lost = await until('it to be given up', async () => {
    const answer = await second.logs.api.send({ path: second.logs.pathOf(1, 'ann'), headers: range });
    return answer.status === 409 && answer;
  });
  expect(lost.json).toMatchObject({
    type: 'https://mortise.dev/problems/file-aborted',
    reason: 'The upload was lost',
  });
  await second.logs.done(1, 'ann');
  expect((await second.logs.upload('next')).status).toBe(201);
  await kill(second);
}, 120_000);

test('SIGTERM ends uploads and downloads that are under way, with 503, and the program', async () => {
  const prefix = freshPrefix();
  const program = await boot(prefix, { REQUEST_DEADLINE_MS: '2000' });
  const { logs } = program;
  await logs.join('ann');
  const uploading = logs.begin('kept.log', { 'idempotency-key': 'kept' });
  await uploading.write(numbered(MIB));
  await logs.bytes(1, MIB / 2);
  const download = await logs.open(1, 'ann');
  await download.reached(MIB / 2);
  const code = await kill(program, 'SIGTERM');
  expect(code).toBe(0);
  expect((await download.ended()).end).toBe('broken');
  expect(await uploading.answer).toMatchObject({
    status: 503,
    json: { type: 'https://mortise.dev/problems/shutting-down' },
  });
  // With a key it is kept for whoever goes on with it.
  expect((await keysOf(redis, prefix)).some((key) => key.includes(':chunk:'))).toBe(true);
}, 120_000);

test('a log that is larger than its window arrives whole at both receivers when the API is killed', async () => {
  const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
  const child = spawn(process.execPath, [file('../dist/examples/log-delivery.js')], {
    env: { REDIS_URL, ...LONG_TIMEOUTS },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.add(child);
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  const [, output = ''] = readFileSync(file('../examples/log-delivery.ts'), 'utf8').split('// Output:\n');
  expect(
    printed
      .trimEnd()
      .split('\n')
      .map((line) => `// ${line}`),
  ).toEqual(output.trimEnd().split('\n'));
  expect(code).toBe(0);
}, 200_000);
