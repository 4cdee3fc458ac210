/**
 * The application of docs/start/nextjs.md under Next.js: npm installs the packed packages and Next.js into an empty folder.
 * Next.js is no dependency of this folder: it would be a third of what each contributor installs.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Project, tool } from '../src/project.js';

const NEXT = '16.4.6';
const REACT = '19.3.1';
/** For a line of a program: a build before it has its own time. */
const LIMIT_MS = 20_000;

const { version: ioredis } = JSON.parse(readFileSync(tool('ioredis/package.json'), 'utf8')) as {
  readonly version: string;
};
const { NODE_OPTIONS: _, NODE_ENV: __, JEST_WORKER_ID: ___, ...inherited } = process.env;
const env = { ...inherited, REDIS_URL: process.env['MORTISE_TEST_REDIS']!, NEXT_TELEMETRY_DISABLED: '1' };

let project: Project;
let folder: string;
let redis: Redis;
const running: ChildProcess[] = [];

beforeAll(() => {
  project = new Project();
  project.write('application/package.json', { name: 'application', private: true });
  folder = join(project.path, 'application');
  cpSync(join(project.path, 'start/nextjs'), folder, { recursive: true });
  const names = [`next@${NEXT}`, `react@${REACT}`, `react-dom@${REACT}`, `ioredis@${ioredis}`];
  const packed = readdirSync(project.packed).map((file) => join(project.packed, file));
  const options = ['--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts', '--loglevel=error'];
  execFileSync('npm', ['install', ...options, ...names, ...packed], { cwd: folder, env, stdio: 'pipe' });
  redis = new Redis(env.REDIS_URL);
});
beforeEach(async () => {
  for (const key of await redis.keys('start-nextjs:*')) await redis.del(key);
});
afterEach(async () => {
  await Promise.all(running.splice(0).map(end));
});
afterAll(async () => {
  await redis.quit();
  project[Symbol.dispose]();
});

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

/** Starts a program of the application, and returns a function that waits for a line. */
function start(args: readonly string[]): (pattern: RegExp) => Promise<string> {
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  running.push(child);
  const lines: string[] = [];
  const output = createInterface(child.stdout).on('line', (line) => lines.push(line));
  return async (pattern) => {
    const signal = AbortSignal.timeout(LIMIT_MS);
    for (;;) {
      const found = lines.map((line) => pattern.exec(line)).find((match) => match !== null);
      if (found) return found[1] ?? found[0];
      if (child.exitCode !== null) throw new Error(`${args.join(' ')} ended: ${lines.join('\n')}`);
      await Promise.race([once(output, 'line', { signal }), once(child, 'close', { signal })]);
    }
  };
}

describe.each(['--turbopack', '--webpack'])('next build %s', (bundler) => {
  test('the route handlers cache, limit and enqueue, and the worker runs the tasks', async () => {
    const next = join(folder, 'node_modules/next/dist/bin/next');
    rmSync(join(folder, '.next'), { recursive: true, force: true });
    const built = execFileSync(process.execPath, [next, 'build', bundler], {
      cwd: folder,
      env,
      encoding: 'utf8',
    });
    expect(built).toMatch(/ƒ \/api\/prices\/\[item\]/);

    const served = start([next, 'start', '--port', '0', '--hostname', '127.0.0.1']);
    const worked = start(['worker.mjs']);
    const url = await served(/Local: +(\S+)/);
    await served(/Ready/);
    const price = await fetch(`${url}/api/prices/hammer`);
    expect(await price.json()).toEqual({ price: 12 });
    expect(await redis.keys('start-nextjs:cache:*')).not.toEqual([]);
    const statuses: number[] = [];
    for (const name of ['ann', 'bob', 'cid'])
      statuses.push((await fetch(`${url}/api/users/${name}`, { method: 'POST' })).status);
    expect(statuses).toEqual([202, 202, 429]);
    expect(await worked(/mail to ann/)).toBe('mail to ann');
    expect(await worked(/mail to bob/)).toBe('mail to bob');
  });
});
