/**
 * A reader of docs/start/nextjs.md: an empty folder gets the commands and the files of the page, word for word. Only the
 * versions are fixed, and the packed packages stand for the published ones. Next.js is no dependency of this folder: it would
 * be a third of what each contributor installs.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startSingle, type RedisServer } from '@mortise/redis-server';
import { until } from '@mortise/test-kit';
import { Redis } from 'ioredis';
import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { on, once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { StartPage } from '../src/start-page.js';
import { Project, tool } from '../src/project.js';

const NEXT = '16.4.6';
const REACT = '19.3.1';
/** For a line of a program, on a busy machine. */
const LIMIT_MS = 150_000;
/** For a line after a build. */
const BUILD_LIMIT_MS = 200_000;

const { version: ioredis } = JSON.parse(readFileSync(tool('ioredis/package.json'), 'utf8')) as {
  readonly version: string;
};
const { NODE_OPTIONS: _, NODE_ENV: __, JEST_WORKER_ID: ___, ...inherited } = process.env;
/** As options of npm, so that the commands stay those of the page. */
const npmEnv = {
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_ignore_scripts: 'true',
  npm_config_loglevel: 'error',
  npm_config_prefer_offline: 'true',
};
const page = new StartPage('nextjs');

let project: Project;
let folder: string;
let own: RedisServer;
let redis: Redis;
let env: NodeJS.ProcessEnv;
const running: ChildProcess[] = [];

beforeAll(async () => {
  // The application has no prefix of its own, so it gets a server of its own.
  own = await startSingle();
  env = { ...inherited, REDIS_URL: own.url, NEXT_TELEMETRY_DISABLED: '1' };
  project = new Project();
  folder = join(project.path, 'application');
  mkdirSync(folder);
  const versions = new Map([
    ['next', NEXT],
    ['react', REACT],
    ['react-dom', REACT],
    ['ioredis', ioredis],
  ]);
  const install = page.installation(project.packed, versions);
  execFileSync('bash', ['-ec', install], { cwd: folder, env: { ...env, ...npmEnv }, stdio: 'pipe' });
  page.writeFiles(folder);
  redis = new Redis(own.url);
});
beforeEach(async () => {
  await redis.flushall();
});
afterEach(async () => {
  await Promise.all(running.splice(0).map(end));
});
afterAll(async () => {
  await redis.quit();
  await own.stop();
  project[Symbol.dispose]();
});

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  // With the programs that a shell has started. They may outlive it, and write a moment: the output is closed by the last one.
  const closed = once(child, 'close');
  process.kill(-child.pid!, 'SIGTERM');
  await closed;
}

/** Starts a program of the application, and returns a function that waits for a line. */
function start(
  args: readonly string[],
  further: Readonly<Record<string, string>> = {},
  program = process.execPath,
): (pattern: RegExp, limitMs?: number) => Promise<string> {
  const child = spawn(program, args, {
    cwd: folder,
    env: { ...env, ...further },
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  running.push(child);
  const lines: string[] = [];
  const output = createInterface(child.stdout).on('line', (line) => lines.push(line));
  let isEnded = false;
  output.once('close', () => (isEnded = true));
  return async (pattern, limitMs = LIMIT_MS) => {
    const added = on(output, 'line', { signal: AbortSignal.timeout(limitMs), close: ['close'] });
    for (;;) {
      const found = lines.map((line) => pattern.exec(line)).find((match) => match !== null);
      if (found) return found[1] ?? found[0];
      if (isEnded) throw new Error(`${args.join(' ')} ended: ${lines.join('\n')}`);
      await added.next();
    }
  };
}

/** The program of Next.js in the application. */
const NEXT_PROGRAM = 'node_modules/next/dist/bin/next';

/** Builds the application, which may send requests to this process. Returns what the build printed. */
async function build(bundler: string, further: Readonly<Record<string, string>> = {}): Promise<string> {
  rmSync(join(folder, '.next'), { recursive: true, force: true });
  const options = { cwd: folder, env: { ...env, ...further } };
  return (await promisify(execFile)(process.execPath, [NEXT_PROGRAM, 'build', bundler], options)).stdout;
}

/** Starts a server of the build, and returns its address. */
async function serve(further: Readonly<Record<string, string>> = {}): Promise<string> {
  const served = start([NEXT_PROGRAM, 'start', '--port', '0', '--hostname', '127.0.0.1'], further);
  const url = await served(/Local: +(\S+)/);
  await served(/Ready/);
  return url;
}

/** Of the page. */
const TEST = ['--test', 'lib/mails.test.mjs'];
/** The answers to the requests of each section. */
const ANSWERS: Readonly<Record<string, readonly RegExp[]>> = {
  'A queue': [/^\{"id":"[^"]+","isDuplicate":false\}$/, /^mail to ann, attempt 2$/],
  'A lock': [/"fencingToken":\d+\}$/],
  'A chat': [/"id":1/, /"body":"Lunch\?"/],
  Completions: [/^$/, /"display":"John Smith"/],
  'A cached row': [/^(?:null|\{"id":"42","name":"hammer","stock":7\})$/],
};

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test('a reader who runs the commands of the page gets its answers', async () => {
  expect(page.text).toContain(`run \`node ${TEST.join(' ')}\``);
  const tested = await promisify(execFile)(process.execPath, TEST, { cwd: folder, env });
  expect(tested.stdout).toMatch(/^(?:#|ℹ) pass 1$/m);

  // That port may be taken here.
  const port = String(await freePort());
  const ready = start(['next', 'dev'], { PORT: port }, 'npx');
  await ready(/Ready/, BUILD_LIMIT_MS);
  const printed: Record<string, string[]> = {};
  for (const section of Object.keys(ANSWERS)) {
    const [server, ...commands] = page.commandsAfter(`## ${section}`).split('\n');
    expect(server).toBe('npx next dev');
    const worked = commands
      .filter((command) => command.startsWith('node '))
      .map((command) => start(command.split(' ').slice(1)));
    printed[section] = [];
    for (const command of commands.filter((each) => each.startsWith('curl '))) {
      expect(command).toContain('localhost:3000/');
      const script = command.replace('localhost:3000/', `localhost:${port}/`);
      printed[section].push((await promisify(execFile)('bash', ['-c', script])).stdout);
    }
    // The worker runs the task that the section enqueued.
    if (section === 'A queue') printed[section].push(await worked[0]!(/mail to ann.*/));
  }
  expect(printed).toEqual(
    Object.fromEntries(
      Object.entries(ANSWERS).map(([section, patterns]) => [
        section,
        patterns.map((pattern) => expect.stringMatching(pattern)),
      ]),
    ),
  );
});

/** The counter of revalidations of the handler in `programs/next-cache`. */
const REVALIDATIONS = 'start-nextjs:cache:{shop}:next-seq';

const mailTo = (to: string): RequestInit => ({ method: 'POST', body: JSON.stringify({ to }) });

describe.each(['--turbopack', '--webpack'])('next build %s', (bundler) => {
  test('the route handlers enqueue and read, and the worker runs the tasks', async () => {
    expect(await build(bundler)).toMatch(/ƒ \/api\/rows\/\[id\]/);

    const worked = start(['worker.mjs']);
    start(['refresher.mjs']);
    const url = await serve();
    for (const name of ['ann', 'bob'])
      expect((await fetch(`${url}/api/users`, mailTo(name))).status).toBe(202);
    expect(await worked(/mail to ann/)).toBe('mail to ann');
    expect(await worked(/mail to bob/)).toBe('mail to bob');
    const row = await fetch(`${url}/api/rows/42`);
    expect(await row.json()).toEqual({ id: '42', name: 'hammer', stock: 7 });
    const locked = await fetch(`${url}/api/stock/hammer`, { method: 'POST' });
    expect(await locked.json()).toEqual({ item: 'hammer', fencingToken: expect.any(Number) });
    const chat = { from: 'jill', to: 'jack', body: 'Lunch?' };
    await fetch(`${url}/api/chats/lunch`, { method: 'POST', body: JSON.stringify(chat) });
    const unread = await fetch(`${url}/api/chats/lunch?member=jack`);
    expect(await unread.json()).toEqual([expect.objectContaining({ from: 'jill', body: 'Lunch?' })]);
    const entry = { key: '1', display: 'John Smith' };
    await fetch(`${url}/api/names`, { method: 'POST', body: JSON.stringify(entry) });
    const names = await fetch(`${url}/api/names?text=smi`);
    expect(await names.json()).toEqual([expect.objectContaining(entry)]);
  });
});

describe.each(['--turbopack', '--webpack'])('the cache handler of two servers, built with %s', (bundler) => {
  let prices: Server;
  let price = 12;
  let queries = 0;
  let further: Record<string, string>;
  let urls: string[];

  beforeAll(async () => {
    prices = createServer((_request, response) => {
      queries += 1;
      response.end(String(price));
    });
    await once(prices.listen(0, '127.0.0.1'), 'listening');
    further = { PRICES_URL: `http://127.0.0.1:${(prices.address() as AddressInfo).port}` };
    cpSync(join(project.path, 'next-cache'), folder, { recursive: true });
    expect(await build(bundler, further)).toMatch(/○ \/shop/);
    // Of the build, which stores nothing in Redis.
    expect(queries).toBe(1);
  });
  afterAll(async () => {
    prices.closeAllConnections();
    await new Promise((resolve) => prices.close(resolve));
  });
  beforeEach(async () => {
    price = 12;
    queries = 0;
    urls = [await serve(further), await serve(further)];
  });

  /** The answer of a server: the price and the id of the render. */
  async function read(server: number, path: string): Promise<{ shown: string; render: string }> {
    const html = await (await fetch(urls[server]! + path)).text();
    const text = html.replaceAll(/<!-- -->/g, '');
    const [, shown, render] = /<p>(?:price|offer) (\S+) rendered (\S+?)<\/p>/.exec(text) ?? [];
    if (shown === undefined || render === undefined) throw new Error(html);
    return { shown, render };
  }

  async function revalidate(server: number, body: object): Promise<void> {
    const before = await redis.get(REVALIDATIONS);
    const answer = await fetch(`${urls[server]}/api/revalidate`, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    expect(answer.status).toBe(204);
    // Next.js answers first, and then calls the handler.
    await until('the revalidation', async () => (await redis.get(REVALIDATIONS)) !== before);
  }

  test('they share pages and answers, and revalidate them for each other', async () => {
    const first = await read(0, '/shop');
    expect(first.shown).toBe('12');
    expect(await read(1, '/shop')).toEqual(first);

    price = 14;
    await revalidate(1, { tag: 'other' });
    expect(await read(0, '/shop')).toEqual(first);
    await revalidate(1, { tag: 'prices' });
    const second = await read(0, '/shop');
    expect(second.shown).toBe('14');
    expect(await read(1, '/shop')).toEqual(second);

    price = 16;
    await revalidate(0, { tag: 'prices', profile: 'max' });
    const third = await read(1, '/shop');
    expect(third.shown).toBe('16');
    expect(await read(0, '/shop')).toEqual(third);

    price = 18;
    await revalidate(0, { path: '/shop' });
    const fourth = await read(1, '/shop');
    expect(fourth.shown).toBe('18');
    expect(await read(0, '/shop')).toEqual(fourth);
    // One for each render, by whichever server.
    expect(queries).toBe(4);
  });

  test('a page that is stale by its time is answered at once and rendered behind it', async () => {
    const first = await read(0, '/offers/hammer');
    expect(await read(1, '/offers/hammer')).toEqual(first);
    const deadline = performance.now() + LIMIT_MS;
    let next = first;
    while (next.render === first.render && performance.now() < deadline)
      next = await read(1, '/offers/hammer');
    expect(next.render).not.toBe(first.render);
    expect(next.shown).toBe('hammer');
  });
});
