/** Each fragment of JavaScript or TSX runs in a page of Chromium, and passes the hidden check of its document. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { startSingle, type RedisServer } from '@mortise/redis-server';
import { Redis } from 'ioredis';
import { startApi, type ApiProcess } from '../src/api-process.js';
import { blocksOf } from '../src/blocks.js';
import { startBrowser, type BrowserRunner } from '../src/browser/run.js';
import { documents } from '../src/documents.js';
import { root } from '../src/pages.js';

/** Where the programs find the dependencies of this package. */
const modules = join(root, 'tooling/docs/.cache/browser');

const fragments = documents().flatMap(({ file, text }) =>
  blocksOf(text)
    .fragments.filter(({ language }) => language !== 'ts')
    .map((fragment) => ({ place: `${file}:${fragment.line}`, ...fragment })),
);

let redis: RedisServer;
let client: Redis;
let api: ApiProcess;
let browser: BrowserRunner;
beforeAll(async () => {
  rmSync(modules, { recursive: true, force: true });
  mkdirSync(modules, { recursive: true });
  redis = await startSingle();
  client = new Redis(redis.url);
  api = await startApi({ REDIS_URL: redis.url });
  browser = await startBrowser(api.port);
});
// Pages have the same queues and tasks.
beforeEach(() => client.flushall());
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  api.stop();
  client.disconnect();
  await redis.stop();
  rmSync(modules, { recursive: true, force: true });
});

test('each fragment has a check', () => {
  expect(fragments.length).toBeGreaterThan(5);
  expect(fragments.filter(({ isChecked }) => !isChecked).map(({ place }) => place)).toEqual([]);
});

test.each(fragments)('$place runs', async ({ place, ...fragment }) => {
  expect(await browser.run(join(modules, place.replaceAll('/', '.')), fragment)).toEqual([]);
});
