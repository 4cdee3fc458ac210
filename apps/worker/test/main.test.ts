/** The program as it is run, and its log of errors. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { startSingle } from '@mortise/redis-server';
import { until } from '@mortise/test-kit';
import { pino } from 'pino';

import { ErrorLog } from '../src/error-log.js';
import { Game } from './fixture/game.js';
import { parseMail } from './fixture/mails.js';
import { SmtpPeer } from './fixture/smtp-peer.js';

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
let directory: string;
const started: Program[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'mortise-worker-'));
});

afterEach(async () => {
  for (const program of started.splice(0)) program.kill('SIGKILL');
  await rm(directory, { recursive: true });
});

/** `node dist/main.js` with no other environment than the one given. */
class Program {
  readonly lines: Record<string, unknown>[] = [];
  readonly exited: Promise<number | string>;
  errors = '';
  readonly #child: ChildProcess;

  constructor(variables: Record<string, string>) {
    this.#child = spawn(process.execPath, [MAIN], { cwd: directory, env: variables });
    this.exited = once(this.#child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
    createInterface(this.#child.stdout!).on('line', (line) => this.lines.push(JSON.parse(line)));
    this.#child.stderr!.on('data', (chunk) => {
      this.errors += String(chunk);
    });
    started.push(this);
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  said(message: string): Promise<Record<string, unknown>> {
    return until(`the worker to say "${message}"; ${this.errors}`, () =>
      this.lines.find(({ msg }) => msg === message),
    );
  }

  count(message: string): number {
    return this.lines.filter(({ msg }) => msg === message).length;
  }
}

function run(game: Game, variables: Record<string, string> = {}): Program {
  return new Program({ ...game.variables, ...variables });
}

/** Resolves when a mail has reached the peer, which never answers. */
function hang(peer: SmtpPeer): Promise<void> {
  return new Promise((resolve) => {
    peer.onData = () => {
      resolve();
      return new Promise(() => undefined);
    };
  });
}

test('a sale becomes a file under .data/mail, and SIGTERM ends the worker with 0', async () => {
  await using game = new Game();
  await game.putPlayers();
  const worker = run(game, { WORKER_SHUTDOWN_TIMEOUT_MS: '3600000' });
  const id = await game.sell();
  await game.taskIn('succeeded', id);
  expect(await readdir(join(directory, '.data/mail'))).toEqual([`${id}.eml`]);
  expect(await parseMail(await readFile(join(directory, '.data/mail', `${id}.eml`)))).toMatchObject({
    from: { name: 'Fake Game', address: 'market@mortise.localhost' },
    to: [{ address: 'frank@example.com' }],
    subject: 'Sold: ItemM for 97 coins',
    messageId: `<${id}@mortise.localhost>`,
  });
  // There is nothing to wait for.
  worker.kill('SIGTERM');
  expect(await worker.exited).toBe(0);
  expect(worker.count('stopped')).toBe(1);
  expect(worker.errors).toBe('');
});

test('a mail that hangs at SIGINT goes back after the time it is given, and the worker ends with 0', async () => {
  await using peer = await SmtpPeer.start();
  const hanging = hang(peer);
  await using game = new Game();
  await game.putPlayers();
  const worker = run(game, { SMTP_URL: peer.url, WORKER_SHUTDOWN_TIMEOUT_MS: '200' });
  const id = await game.sell();
  await hanging;
  const killedAt = performance.now();
  worker.kill('SIGINT');
  expect(await worker.exited).toBe(0);
  const tookMs = performance.now() - killedAt;
  expect(tookMs).toBeGreaterThan(190);
  // Less than the time that it has by default.
  expect(tookMs).toBeLessThan(9_000);
  expect(await game.queue.get(id)).toMatchObject({ attempt: 0 });
  expect((await game.queue.counts()).active).toBe(0);
});

test('a second signal ends the worker at once', async () => {
  await using peer = await SmtpPeer.start();
  const hanging = hang(peer);
  await using game = new Game();
  await game.putPlayers();
  const worker = run(game, { SMTP_URL: peer.url });
  await game.sell();
  await hanging;
  worker.kill('SIGTERM');
  await worker.said('stopping');
  worker.kill('SIGINT');
  expect(await worker.exited).toBe('SIGINT');
});

test('killed in the middle of 200 mails: the next worker sends the rest, and every file is a whole mail', async () => {
  await using game = new Game();
  await game.putPlayers();
  const ids = await Promise.all(Array.from({ length: 200 }, () => game.sell()));
  const mails = join(directory, 'mail');
  const variables = { MAIL_DIR: mails, WORKER_LEASE_MS: '3000', WORKER_CONCURRENCY: '10' };
  const killed = run(game, variables);
  await until('some mails to be written', () => killed.count('mail sent') > 20);
  killed.kill('SIGKILL');
  expect(await killed.exited).toBe('SIGKILL');
  // A test that was held up may come late with its kill.
  for (let n = 0; n < 10; n += 1) ids.push(await game.sell());

  run(game, variables);
  await until('all mails to be sent', async () => (await game.queue.counts()).succeeded === 210);
  const files = (await readdir(mails)).filter((name) => name.endsWith('.eml'));
  expect(new Set(files)).toEqual(new Set(ids.map((id) => `${id}.eml`)));
  for (const id of ids) {
    const { messageId, text, html } = await parseMail(await readFile(join(mails, `${id}.eml`)));
    expect({ messageId, text, html }).toEqual({
      messageId: `<${id}@mortise.localhost>`,
      text: expect.stringContaining(`Sale ${id}\n`),
      html: expect.stringContaining('</html>'),
    });
  }
});

test('boots without Redis, starts work when Redis comes, and logs each once', async () => {
  const server = await startSingle();
  try {
    await server.kill();
    await using game = new Game({ REDIS_URL: server.url });
    const worker = run(game, { WORKER_SHUTDOWN_TIMEOUT_MS: '100' });
    await worker.said('worker has started');
    await worker.said('redis is not reachable, trying until it is');
    await server.restart();
    await game.putPlayers();
    const id = await game.sell();
    await game.taskIn('succeeded', id);

    await server.kill();
    await until(
      'the loss to be noticed',
      () => worker.count('redis is not reachable, trying until it is') === 2,
    );
    await server.restart();
    await game.putPlayers();
    await game.taskIn('succeeded', await game.sell());
    expect(worker.lines.map(({ msg }) => msg)).toEqual([
      'health checks and metrics are answered',
      'worker has started',
      'redis is not reachable, trying until it is',
      'redis is reachable',
      'redis settings against loss',
      'mail sent',
      'redis is not reachable, trying until it is',
      'redis is reachable',
      'mail sent',
    ]);
  } finally {
    await server.stop();
  }
});

test('without Redis, SIGTERM ends the worker in bounded time', async () => {
  const server = await startSingle();
  await server.kill();
  await using game = new Game({ REDIS_URL: server.url });
  const worker = run(game, { WORKER_SHUTDOWN_TIMEOUT_MS: '100' });
  await worker.said('redis is not reachable, trying until it is');
  const killedAt = performance.now();
  worker.kill('SIGTERM');
  expect([0, 1]).toContain(await worker.exited);
  // But for what a busy machine adds.
  expect(performance.now() - killedAt).toBeLessThan(30_000);
  await server.stop();
});

test('a port for health checks that is taken: exit code 1', async () => {
  await using peer = await SmtpPeer.start();
  await using game = new Game();
  const worker = run(game, { WORKER_PORT: String(peer.port) });
  expect(await worker.exited).toBe(1);
  expect(await worker.said('worker could not start')).toMatchObject({ err: { code: 'EADDRINUSE' } });
});

test('bad settings: all mistakes on stderr, exit code 1', async () => {
  const worker = new Program({
    REDIS_URL: 'nonsense',
    SMTP_URL: 'http://x',
    WORKER_LEASE_MS: 'soon',
    MAIL_FROM: 'me',
  });
  expect(await worker.exited).toBe(1);
  expect(worker.errors).toBe(
    `the settings are not valid:
  REDIS_URL: must be a URL that begins with redis:// or rediss://
  SMTP_URL: must be a URL that begins with smtp:// or smtps://
  MAIL_FROM: not a mail address: not exactly one "@"
  WORKER_LEASE_MS: must be a whole number from 1000 to 3600000
`,
  );
  expect(worker.lines).toEqual([]);
});

test('an error that repeats is one line a minute, with a count', () => {
  const lines: { msg: string; repeatsOfLast?: number }[] = [];
  let now = 1_000_000;
  const errors = new ErrorLog(pino({}, { write: (line) => lines.push(JSON.parse(line)) }), () => now);
  for (let count = 0; count < 100; count += 1) errors.add(new Error('Redis is full'));
  expect(lines.map(({ msg }) => msg)).toEqual(['Redis is full']);
  now += 60_000;
  errors.add(new Error('Redis is full'));
  expect(lines.at(-1)).toMatchObject({ msg: 'Redis is full', repeatsOfLast: 99 });
  errors.add('something else');
  expect(lines.at(-1)).toMatchObject({ msg: 'something else' });
  expect(lines.at(-1)).not.toHaveProperty('repeatsOfLast');
  expect(lines).toHaveLength(3);
});
