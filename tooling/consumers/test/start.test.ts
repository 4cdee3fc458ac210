/** The programs of docs/start: the packed packages in plain Node, NestJS, Express, Fastify, Next.js and Lambda. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Project, tool } from '../src/project.js';

const HOSTS = ['node', 'nestjs', 'express', 'fastify', 'nextjs', 'lambda'] as const;
const env = { REDIS_URL: process.env['MORTISE_TEST_REDIS']!, PORT: '0' };

let project: Project;
let redis: Redis;
beforeAll(() => {
  project = new Project();
  for (const name of ['express', 'fastify']) project.link(name);
  redis = new Redis(env.REDIS_URL);
});
afterAll(async () => {
  project[Symbol.dispose]();
  await redis.quit();
});

/** The keys of an earlier run on the same server. */
async function forget(host: (typeof HOSTS)[number]): Promise<void> {
  const keys = await redis.keys(`start-${host}:*`);
  if (keys.length > 0) await redis.del(...keys);
}

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

test('plain Node', async () => {
  await forget('node');
  expect(project.node(['start/node.mjs'], env)).toEqual({ code: 0, output: outputOf('node.mjs') });
});

test('the test of plain Node', () => {
  const { code, output } = project.node(['--test', 'start/node.test.mjs'], env);
  expect(output).toMatch(/pass 1\n/);
  expect(code).toBe(0);
});

test('NestJS', async () => {
  await forget('nestjs');
  project.write('package.json', { name: 'consumer', private: true, type: 'module' });
  project.write('tsconfig.json', {
    compilerOptions: {
      strict: true,
      target: 'es2023',
      module: 'nodenext',
      experimentalDecorators: true,
      types: ['node'],
      outDir: 'out',
      rootDir: '.',
    },
    files: ['start/nestjs.ts'],
  });
  expect(project.node([tool('typescript-7/bin/tsc'), '-p', '.'])).toEqual({ code: 0, output: '' });
  expect(project.node(['out/start/nestjs.js'], env)).toEqual({ code: 0, output: outputOf('nestjs.ts') });
});

describe.each(['express', 'fastify'] as const)('%s', (host) => {
  test('serves, limits, enqueues, and stops in order', async () => {
    await forget(host);
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

test('the route handlers of Next.js', async () => {
  await forget('nextjs');
  project.write('package.json', { name: 'consumer', private: true, type: 'module' });
  project.write(
    'start/nextjs.mjs',
    `import { GET } from './nextjs/app/api/prices/[item]/route.js';
     import { POST } from './nextjs/app/api/users/[name]/route.js';
     import { mortise } from './nextjs/lib/mortise.js';
     const price = await GET(undefined, { params: Promise.resolve({ item: 'hammer' }) });
     console.log(await price.json());
     for (const name of ['ann', 'bob', 'cid']) {
       console.log((await POST(undefined, { params: Promise.resolve({ name }) })).status);
     }
     console.log((await mortise.mails.counts()).ready);
     await mortise.redis.quit();`,
  );
  const { code, output } = project.node(['start/nextjs.mjs'], env);
  expect(output).toBe('{ price: 12 }\n202\n202\n429\n2\n');
  expect(code).toBe(0);
});

test('a function of Lambda', async () => {
  await forget('lambda');
  project.write(
    'start/call.mjs',
    `import { handler } from './lambda.mjs';
     const { statusCode, body } = await handler({ pathParameters: { item: 'hammer' } });
     console.log(statusCode, JSON.parse(body).price);
     process.exit();`,
  );
  expect(project.node(['start/call.mjs'], env)).toEqual({ code: 0, output: '202 12\n' });
});
