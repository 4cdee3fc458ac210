/**
 * Applications of BullMQ that move by the command of docs/coming-from/bullmq: their own tests pass before and after, and few lines change.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { startSingle, type RedisServer } from '@mortise/redis-server';
import { transformSync } from '@swc/core';
import { Redis } from 'ioredis';
import { docs, root } from '../src/pages.js';

const apps = join(root, 'tooling/docs/programs/coming-from/bullmq');
/** Where the applications find the dependencies of this package. */
const modules = join(root, 'tooling/docs/.cache/moved-apps');
const compiler = join(root, 'tooling/docs/node_modules/typescript/bin/tsc');
const run = promisify(execFile);
const MOST_CHANGED = 30;

type Files = ReadonlyMap<string, string>;

const page = readFileSync(join(docs, 'coming-from/bullmq.md'), 'utf8');

/** The command of the page that changes the imports of an application. */
const COMMAND = (() => {
  const [[, command] = [], ...others] = [...page.matchAll(/^```sh\n(grep -rlE [\s\S]*?)\n```$/gm)];
  if (command === undefined || others.length > 0) throw new Error('the page has no such command, or several');
  return command;
})();

/** Runs the command in a folder with the application. */
async function moved(name: string, files: Files): Promise<Files> {
  const folder = join(modules, `${name}-moved`);
  mkdirSync(join(folder, 'src'), { recursive: true });
  for (const [file, text] of files) writeFileSync(join(folder, 'src', file), text);
  await run('bash', ['-ec', COMMAND], { cwd: folder });
  return new Map(Array.from(files.keys(), (file) => [file, readFileSync(join(folder, 'src', file), 'utf8')]));
}

function filesOf(app: string): Files {
  const names = readdirSync(join(apps, app)).filter((name) => name.endsWith('.ts'));
  return new Map(names.map((name) => [name, readFileSync(join(apps, app, name), 'utf8')]));
}

/** Lines that came, and lines that went. */
function changedLines(before: Files, after: Files): number {
  const countIn = (text: string): Map<string, number> => {
    const counts = new Map<string, number>();
    for (const line of text.split('\n')) counts.set(line, (counts.get(line) ?? 0) + 1);
    return counts;
  };
  let changed = 0;
  for (const [name, text] of before) {
    const [old, made] = [countIn(text), countIn(after.get(name)!)];
    for (const line of new Set([...old.keys(), ...made.keys()])) {
      changed += Math.abs((old.get(line) ?? 0) - (made.get(line) ?? 0));
    }
  }
  return changed;
}

let server: RedisServer;
let redis: Redis;
beforeAll(async () => {
  rmSync(modules, { recursive: true, force: true });
  server = await startSingle();
  redis = new Redis(server.url);
});
beforeEach(async () => {
  await redis.flushall();
});
afterAll(async () => {
  await redis.quit();
  await server.stop();
  rmSync(modules, { recursive: true, force: true });
});

/** The compiler options of NestJS's own template, as far as they matter here. */
const TSCONFIG = {
  compilerOptions: {
    target: 'es2023',
    module: 'nodenext',
    strict: true,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    skipLibCheck: true,
    noEmit: true,
    types: ['node'],
  },
};

/** Compiles an application and runs its own tests; resolves to the number of those that passed. */
async function passed(name: string, files: Files): Promise<number> {
  const folder = join(modules, name);
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of files) writeFileSync(join(folder, file), text);
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(TSCONFIG));
  await run(process.execPath, [compiler, '-p', folder]);
  for (const [file, text] of files) {
    const { code } = transformSync(text, {
      module: { type: 'es6' },
      jsc: {
        target: 'es2023',
        parser: { syntax: 'typescript', decorators: true },
        transform: { legacyDecorator: true, decoratorMetadata: true },
      },
    });
    writeFileSync(join(folder, file.replace(/ts$/, 'js')), code);
  }
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, ...inherited } = process.env;
  const { stdout } = await run(
    process.execPath,
    ['--test', '--test-reporter=tap', join(folder, 'app.test.js')],
    {
      env: { ...inherited, REDIS_URL: server.url },
      timeout: 60_000,
    },
  ).catch((error: Error & { stdout: string }) => error);
  expect(stdout).toMatch(/^# fail 0$/m);
  return Number(/^# pass (\d+)$/m.exec(stdout)![1]);
}

/** The keys of one library are gone after a move. */
async function hasKeysOf(library: 'bullmq' | 'mortise'): Promise<boolean> {
  const isOurs = (key: string): boolean => key.includes(':queues:');
  const keys = await redis.keys('*');
  return keys.some((key) => isOurs(key) === (library === 'mortise'));
}

test('the command changes imports in single and in double quotes, and nothing else', async () => {
  const text = `import { Queue } from 'bullmq';
import type { Job } from "bullmq";
import { BullModule } from '@nestjs/bullmq';
import { InjectQueue } from "@nestjs/bullmq";
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
export const name = 'bullmq';
`;
  const after = await moved(
    'quotes',
    new Map([
      ['both.ts', text],
      ['double.ts', 'export * from "bullmq";\n'],
    ]),
  );
  expect(Object.fromEntries(after)).toEqual({
    'both.ts': `import { Queue } from '@mortise/queues/bullmq';
import type { Job } from "@mortise/queues/bullmq";
import { BullModule } from '@mortise/queues/nestjs/bullmq';
import { InjectQueue } from "@mortise/queues/nestjs/bullmq";
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
export const name = 'bullmq';
`,
    'double.ts': 'export * from "@mortise/queues/bullmq";\n',
  });
});

test.each([
  { app: 'quick-start', tests: 3 },
  { app: 'nestjs', tests: 3 },
])(
  '$app: it compiles, and its tests pass with BullMQ, and with the layer after the command of the page',
  async ({ app, tests }) => {
    const before = filesOf(app);
    const after = await moved(app, before);
    const count = changedLines(before, after);
    expect(count).toBeGreaterThan(0);
    expect(count).toBeLessThanOrEqual(MOST_CHANGED);
    expect([...after.values()].join('')).not.toMatch(/'(?:@nestjs\/)?bullmq'/);
    expect(await passed(`${app}-before`, before)).toBe(tests);
    expect(await hasKeysOf('mortise')).toBe(false);
    await redis.flushall();
    expect(await passed(`${app}-after`, after)).toBe(tests);
    expect(await hasKeysOf('bullmq')).toBe(false);
    expect(await hasKeysOf('mortise')).toBe(true);
  },
);
