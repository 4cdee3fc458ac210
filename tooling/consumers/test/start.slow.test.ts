/** The programs of docs/start: the packed packages in plain Node, NestJS, Express, Fastify, Next.js and Lambda. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { startSingle, type RedisServer } from '@mortise/redis-server';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Project, tool } from '../src/project.js';
import { StartPage } from '../src/start-page.js';

let project: Project;
let own: RedisServer;
let redis: Redis;
let env: { readonly REDIS_URL: string; readonly PORT: string };
beforeAll(async () => {
  project = new Project();
  for (const name of ['express', 'fastify']) project.link(name);
  // The programs have no prefix of their own, so they get a server of their own.
  own = await startSingle();
  redis = new Redis(own.url);
  env = { REDIS_URL: own.url, PORT: '0' };
});
beforeEach(() => redis.flushall());
afterAll(async () => {
  project[Symbol.dispose]();
  await redis.quit();
  await own.stop();
});

function outputOf(file: string): string {
  const text = readFileSync(fileURLToPath(new URL(`../programs/start/${file}`, import.meta.url)), 'utf8');
  return text.split('// Output:\n')[1]!.replaceAll(/^\/\/ /gm, '');
}

/** A server that prints its port. */
async function serve(file: string) {
  const { NODE_OPTIONS: _, ...inherited } = process.env;
  const child = spawn(process.execPath, [file], { cwd: project.path, env: { ...inherited, ...env } });
  const lines: string[] = [];
  const output = createInterface(child.stdout).on('line', (line) => lines.push(line));
  await Promise.race([once(output, 'line'), once(child, 'exit')]);
  return {
    url: `http://127.0.0.1:${lines[0]?.replace('port ', '')}`,
    async stop(): Promise<{ code: number | null; lines: string[] }> {
      child.kill('SIGTERM');
      await once(child, 'close');
      return { code: child.exitCode, lines: lines.slice(1) };
    },
  };
}

test.each(['queue', 'lock', 'row'])('plain Node: %s', (name) => {
  const file = `node/${name}.mjs`;
  expect(project.node([`start/${file}`], env)).toEqual({ code: 0, output: outputOf(file) });
});

test('the test of plain Node', () => {
  const { code, output } = project.node(['--test', 'start/node/mails.test.mjs'], env);
  expect(output).toMatch(/pass 1\n/);
  expect(code).toBe(0);
});

describe('NestJS', () => {
  const programs = ['lock', 'chat', 'names', 'row'];

  beforeAll(() => {
    const { compilerOptions } = JSON.parse(new StartPage('nestjs').block('json')) as {
      compilerOptions: object;
    };
    project.write('tsconfig.json', {
      compilerOptions: { ...compilerOptions, outDir: 'out', rootDir: '.' },
      files: ['queue.test', ...programs].map((name) => `start/nestjs/${name}.mts`),
    });
    expect(project.node([tool('typescript-7/bin/tsc'), '-p', '.'])).toEqual({ code: 0, output: '' });
  });

  test.each(programs)('%s', (name) => {
    const { code, output } = project.node([`out/start/nestjs/${name}.mjs`], env);
    expect(output).toBe(outputOf(`nestjs/${name}.mts`));
    expect(code).toBe(0);
  });

  test('the queue and its test', () => {
    const { code, output } = project.node(['--test', 'out/start/nestjs/queue.test.mjs'], env);
    expect(output).toMatch(/pass 1\n/);
    expect(code).toBe(0);
  });
});

describe.each(['express', 'fastify'] as const)('%s', (host) => {
  test('serves, limits, enqueues, and stops in order', async () => {
    const server = await serve(`start/${host}.mjs`);
    const price = await fetch(`${server.url}/prices/hammer`);
    expect(await price.json()).toEqual({ price: 12 });
    const statuses: number[] = [];
    for (const name of ['ann', 'bob', 'cid'])
      statuses.push((await fetch(`${server.url}/users/${name}`, { method: 'POST' })).status);
    expect(statuses).toEqual([202, 202, 429]);
    const { code, lines } = await server.stop();
    expect(code).toBe(0);
    expect(lines.toSorted((a, b) => a.localeCompare(b))).toEqual(['mail to ann', 'mail to bob']);
  });
});

test('the route handlers of Next.js, and the programs beside them', () => {
  project.write('package.json', { name: 'consumer', private: true, type: 'module' });
  project.write(
    'start/nextjs.mjs',
    `import * as users from './nextjs/app/api/users/route.js';
     import * as stock from './nextjs/app/api/stock/[item]/route.js';
     import * as chats from './nextjs/app/api/chats/[chat]/route.js';
     import * as names from './nextjs/app/api/names/route.js';
     import * as rows from './nextjs/app/api/rows/[id]/route.js';
     import { redis } from './nextjs/lib/redis.mjs';
     import { Queue } from '@mortise/queues';
     import './nextjs/worker.mjs';
     import './nextjs/refresher.mjs';
     const at = (params) => ({ params: Promise.resolve(params) });
     const sent = (body) => new Request('http://shop/', { method: 'POST', body: JSON.stringify(body) });
     const asked = (query) => new Request('http://shop/?' + query);
     console.log((await users.POST(sent({ to: 'ann' }))).status);
     console.log((await (await stock.POST(undefined, at({ item: 'hammer' }))).json()).fencingToken > 0);
     await chats.POST(sent({ from: 'jill', to: 'jack', body: 'Lunch?' }), at({ chat: 'lunch' }));
     console.log((await (await chats.GET(asked('member=jack'))).json()).map(({ body }) => body));
     await names.POST(sent({ key: '1', display: 'John Smith' }));
     console.log((await (await names.GET(asked('text=smi'))).json()).map(({ display }) => display));
     const row = async () => (await rows.GET(undefined, at({ id: '42' }))).json();
     while ((await row()) === null);
     console.log(await row());
     while ((await new Queue(redis, 'mails').counts()).succeeded === 0);
     process.exit();`,
  );
  const { code, output } = project.node(['start/nextjs.mjs'], env);
  expect(output.trim().split('\n')).toEqual([
    '202',
    'true',
    "[ 'Lunch?' ]",
    "[ 'John Smith' ]",
    "{ id: '42', name: 'hammer', stock: 7 }",
    'mail to ann, attempt 2',
  ]);
  expect(code).toBe(0);
});

test('the refresher of Next.js stops on a signal', () => {
  project.write(
    'start/refresher.mjs',
    `import './nextjs/refresher.mjs';
     import { items } from './nextjs/lib/items.mjs';
     while ((await items.get('42')) === null);
     process.emit('SIGTERM');`,
  );
  expect(project.node(['start/refresher.mjs'], env)).toEqual({ code: 0, output: '' });
});

test('the test of Next.js', () => {
  const { code, output } = project.node(['--test', 'start/nextjs/lib/mails.test.mjs'], env);
  expect(output).toMatch(/pass 1\n/);
  expect(code).toBe(0);
});

test('a function of Lambda', () => {
  project.write(
    'start/call.mjs',
    `import { handler } from './lambda.mjs';
     const { statusCode, body } = await handler({ pathParameters: { item: 'hammer' } });
     console.log(statusCode, JSON.parse(body).price);
     process.exit();`,
  );
  expect(project.node(['start/call.mjs'], env)).toEqual({ code: 0, output: '202 12\n' });
});
