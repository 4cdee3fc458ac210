/**
 * The pages of docs/coming-from: the program of the other library and that of Mortise run against one Redis, each prints
 * its `// Output:` block, and both print the same.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startSingle, type RedisServer } from '@mortise/redis-server';
import { transformSync } from '@swc/core';
import { Redis } from 'ioredis';
import { blocksOf, outputOf } from '../src/blocks.js';
import { docs, root } from '../src/pages.js';

/** Where the programs find the dependencies of this package. */
const modules = join(root, 'tooling/docs/.cache/coming-from');
const run = promisify(execFile);
/** A page without programs. */
const TABLES = 'bullmq-tests.md';

const pages = readdirSync(join(docs, 'coming-from'))
  .filter((file) => file.endsWith('.md') && file !== TABLES)
  .map((file) => {
    const text = readFileSync(join(docs, 'coming-from', file), 'utf8');
    return { name: basename(file, '.md'), quotes: blocksOf(text).quotes.map((quote) => quote.file) };
  });

/** Lines that the other library misses: the page is about them. */
const MISSED: Readonly<Record<string, readonly string[]>> = { 'socketio-rooms': ['jack gets At noon?'] };

let server: RedisServer;
let redis: Redis;
beforeAll(async () => {
  rmSync(modules, { recursive: true, force: true });
  mkdirSync(modules, { recursive: true });
  server = await startSingle();
  redis = new Redis(server.url);
});
// Libraries and pages share names of keys.
beforeEach(async () => {
  await redis.flushall();
});
afterAll(async () => {
  await redis.quit();
  await server.stop();
  rmSync(modules, { recursive: true, force: true });
});

/** The lines that a program prints. A program that stays or complains fails. */
async function linesOf(file: string, name: string, change = (text: string) => text): Promise<string[]> {
  const { code } = transformSync(change(readFileSync(join(root, file), 'utf8')), {
    module: { type: 'es6' },
    jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
  });
  const program = join(modules, `${name}.mjs`);
  writeFileSync(program, code);
  const { NODE_OPTIONS: _, ...inherited } = process.env;
  const env = { ...inherited, REDIS_URL: server.url };
  const { stdout, stderr } = await run(process.execPath, [program], { env, timeout: 60_000 });
  expect(stderr).toBe('');
  return stdout.trimEnd().split('\n');
}

function promisedBy(file: string): string[] {
  return outputOf(readFileSync(join(root, file), 'utf8')) ?? [];
}

test('each page has a program before and a program after', () => {
  expect(pages.length).toBeGreaterThan(5);
  expect(pages.filter(({ quotes }) => quotes.length !== 2)).toEqual([]);
});

describe.each(pages)('$name', ({ name, quotes: [before = '', after = ''] }) => {
  test('both programs print what they say, and the same', async () => {
    const printed = await Promise.all([linesOf(before, `${name}.before`), linesOf(after, `${name}.after`)]);
    expect(printed).toEqual([promisedBy(before), promisedBy(after)]);
    const missed = MISSED[name] ?? [];
    expect(printed[1].filter((line) => !missed.includes(line))).toEqual(printed[0]);
    expect(printed[1]).toEqual(expect.arrayContaining([...missed]));
  });
});

/** The blocks of `diff` in a page: the lines that go and those that come. */
function changesIn(file: string): { removed: string; added: string }[] {
  const text = readFileSync(join(docs, file), 'utf8');
  const linesWith = (sign: string, block: string): string =>
    Array.from(block.matchAll(new RegExp(`^[${sign}](.*\\n)`, 'gm')), ([, line]) => line!).join('');
  return [...text.matchAll(/^```diff\n([\s\S]*?)^```$/gm)].map(([, block]) => ({
    removed: linesWith('-', block!),
    added: linesWith('+', block!),
  }));
}

test('the program of BullMQ prints the same after the change that its page shows', async () => {
  // The change of a NestJS application, too, which moved-apps.test.ts proves.
  const changes = changesIn('coming-from/bullmq.md');
  expect(changes.map(({ removed }) => removed.includes('@nestjs/bullmq'))).toEqual([false, true]);
  const [change] = changes;
  const { quotes: [before = ''] = [] } = pages.find(({ name }) => name === 'bullmq') ?? {};
  const apply = (text: string): string => {
    const [start, end, ...further] = text.split(change!.removed);
    if (end === undefined || further.length > 0) throw new Error('the program has no such lines, or twice');
    return `${start}${change!.added}${end}`;
  };
  expect(await linesOf(before, 'bullmq.layer', apply)).toEqual(promisedBy(before));
});
