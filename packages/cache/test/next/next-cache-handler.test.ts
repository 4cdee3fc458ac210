/** The calls of Next.js. Next.js itself runs in tooling/consumers. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { connect, disconnect, freshPrefix, until } from '@mortise/test-kit';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nextCacheHandler } from '../../src/next/index.js';
import type { NextCacheHandler, NextCacheOptions } from '../../src/next/index.js';

const redis = connect();
const FETCH = { kind: 'FETCH', tags: ['prices'], softTags: ['_N_T_/shop'] };
const PAGE = { kind: 'APP_PAGE' };
const answer = { kind: 'FETCH', data: { body: 'text' }, tags: ['prices'], revalidate: 60 };

const page = {
  kind: 'APP_PAGE',
  html: '<p>12</p>',
  rscData: Buffer.from([0, 255]),
  segmentData: new Map([['/a', Buffer.from('a')]]),
  headers: { 'x-next-cache-tags': '_N_T_/layout,prices' },
  status: 200,
  postponed: undefined,
};

const folders: string[] = [];
afterEach(() => {
  delete process.env['NEXT_PHASE'];
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** Returns a function that makes the handler of a request, and the failures. */
function handlersOf(options: NextCacheOptions = {}) {
  const errors: unknown[] = [];
  const Handler = nextCacheHandler(() => redis, 'app', {
    prefix: freshPrefix(),
    onError: (error) => errors.push(error),
    ...options,
  });
  return { errors, request: (serverDistDir?: string): NextCacheHandler => new Handler({ serverDistDir }) };
}

function folderOf(build: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'next-'));
  folders.push(folder);
  mkdirSync(join(folder, 'server'));
  writeFileSync(join(folder, 'BUILD_ID'), `${build}\n`);
  return join(folder, 'server');
}

describe('get and set', () => {
  test.each([
    ['plain', {}],
    ['compressed', { compressFromBytes: 0 }],
  ])('a value comes back as it was, %s', async (_, options) => {
    const { request, errors } = handlersOf(options);
    expect(await request().get('/shop', PAGE)).toBeNull();
    const cacheControl = { revalidate: 60, expire: 3_600 };
    await request().set('/shop', page, { cacheControl });
    const found = (await request().get('/shop', PAGE))!;
    expect(found).toEqual({ value: page, cacheControl, lastModified: expect.any(Number) });
    expect(Date.now() - found.lastModified).toBeLessThan(60_000);
    const { rscData, segmentData } = found.value as typeof page;
    expect(rscData).toBeInstanceOf(Buffer);
    expect(segmentData.get('/a')).toBeInstanceOf(Buffer);
    await request().set('hash', answer, { fetchCache: true, tags: ['prices'] });
    expect((await request().get('hash', FETCH))!.value).toEqual(answer);
    expect(errors).toEqual([]);
  });

  test('a known absence comes back', async () => {
    const { request } = handlersOf();
    await request().set('/none', null, {});
    expect((await request().get('/none', PAGE))!.value).toBeNull();
  });

  test('each build has pages of its own, answers are common', async () => {
    const { request } = handlersOf();
    const [one, two] = [folderOf('one'), folderOf('two')];
    await request(one).set('/shop', page, {});
    await request(one).set('hash', answer, { fetchCache: true });
    expect(await request(two).get('/shop', PAGE)).toBeNull();
    expect(await request(one).get('/shop', PAGE)).not.toBeNull();
    expect(await request(two).get('hash', FETCH)).not.toBeNull();
  });

  test('an entry ends with ttlMs, and before by the expire of Next.js', async () => {
    const prefix = freshPrefix();
    const { request } = handlersOf({ prefix, ttlMs: 10_000 });
    await request().set('/long', page, { cacheControl: { expire: 31_536_000 } });
    await request().set('/short', page, { cacheControl: { expire: 5 } });
    const pttl = (key: string) => redis.pttl(`${prefix}:cache:{app}:next-page:page ${key}`);
    expect(await pttl('/long')).toBeGreaterThan(9_000);
    expect(await pttl('/long')).toBeLessThanOrEqual(10_000);
    expect(await pttl('/short')).toBeLessThanOrEqual(5_000);
  });

  test('an entry that is too large, or no entry of ours, is absent', async () => {
    const prefix = freshPrefix();
    const { request, errors } = handlersOf({ prefix, maxPayloadBytes: 1_000 });
    await request().set('/large', { html: 'x'.repeat(2_000) }, {});
    expect(await request().get('/large', PAGE)).toBeNull();
    expect(errors).toMatchObject([{ code: 'ERR_CACHE_VALUE_TOO_LARGE' }]);
    await redis.set(`${prefix}:cache:{app}:next-page:page /foreign`, 'text');
    expect(await request().get('/foreign', PAGE)).toBeNull();
    await request().set('/function', { html: () => 'text' }, {});
    expect(errors).toMatchObject([{}, { code: 'ERR_CACHE_VALUE' }]);
  });
});

describe('revalidateTag', () => {
  test('expires the pages and answers with a tag, and no others', async () => {
    const { request } = handlersOf();
    await request().set('/shop', page, {});
    await request().set('/other', { ...page, headers: { 'x-next-cache-tags': 'other' } }, {});
    await request().set('hash', answer, { fetchCache: true, tags: ['prices'] });
    await request().revalidateTag(['prices', 'prices']);
    expect(await request().get('/shop', PAGE)).toBeNull();
    expect(await request().get('hash', FETCH)).toBeNull();
    expect(await request().get('/other', PAGE)).not.toBeNull();
    await request().set('/shop', page, {});
    expect(await request().get('/shop', PAGE)).not.toBeNull();
  });

  test('of a path expires the answers that its pages asked for', async () => {
    const { request } = handlersOf();
    await request().set('hash', answer, { fetchCache: true });
    await request().revalidateTag('_N_T_/shop');
    expect(await request().get('hash', FETCH)).toBeNull();
    expect(await request().get('hash', { kind: 'FETCH', softTags: ['_N_T_/else'] })).not.toBeNull();
  });

  test('a render that began before it and is stored after it is expired', async () => {
    const { request } = handlersOf();
    const slow = request();
    expect(await slow.get('/shop', PAGE)).toBeNull();
    await request().revalidateTag('prices');
    await slow.set('/shop', page, {});
    expect(await request().get('/shop', PAGE)).toBeNull();
    await slow.set('/shop', page, {});
    expect(await request().get('/shop', PAGE)).not.toBeNull();
  });

  test('with durations an answer is stale, and a page is rendered again', async () => {
    const { request } = handlersOf();
    await request().set('/shop', page, {});
    await request().set('hash', answer, { fetchCache: true });
    await request().revalidateTag('prices', { expire: 3_600 });
    const { lastModified, value } = (await request().get('hash', FETCH))!;
    const ageInSeconds = (Date.now() - lastModified) / 1_000;
    // The longest time of Next.js.
    expect(ageInSeconds).toBeGreaterThan(0xff_ff_ff_fe);
    expect(value).toEqual(answer);
    expect(await request().get('/shop', PAGE)).toBeNull();
    await request().revalidateTag('prices', {});
    expect(await request().get('hash', FETCH)).not.toBeNull();
  });

  test('a stale answer expires after its duration, also if it is revalidated again with a longer one', async () => {
    const { request } = handlersOf();
    await request().set('hash', answer, { fetchCache: true });
    await request().revalidateTag('prices', { expire: 0.1 });
    await request().revalidateTag('prices', { expire: 3_600 });
    await until('the end', async () => (await request().get('hash', FETCH)) === null);
    await request().revalidateTag('prices', { expire: 3_600 });
    expect(await request().get('hash', FETCH)).toBeNull();
  });

  test('a lost counter does not make old entries fresh', async () => {
    const prefix = freshPrefix();
    const { request } = handlersOf({ prefix });
    await request().revalidateTag('prices');
    await request().set('hash', answer, { fetchCache: true });
    await redis.del(`${prefix}:cache:{app}:next-seq`);
    await request().revalidateTag('prices');
    expect(await request().get('hash', FETCH)).toBeNull();
  });

  test('every key goes away', async () => {
    const prefix = freshPrefix();
    const { request } = handlersOf({ prefix });
    await request().set('/shop', page, {});
    await request().revalidateTag('prices');
    const keys = (await redis.keys(`${prefix}:*`)).map((key) => key.slice(prefix.length));
    expect(keys.toSorted((a, b) => a.localeCompare(b))).toEqual([
      ':cache:{app}:next-page:page /shop',
      ':cache:{app}:next-seq',
      ':cache:{app}:next-tag:prices',
    ]);
    const times = await Promise.all(keys.map((key) => redis.pttl(prefix + key)));
    expect(Math.min(...times)).toBeGreaterThan(0);
  });
});

describe('without Redis', () => {
  test('nothing is found or stored, and revalidateTag rejects', async () => {
    const client = connect();
    const errors: unknown[] = [];
    const Handler = nextCacheHandler(() => client, 'app', {
      prefix: freshPrefix(),
      onError: (error) => errors.push(error),
    });
    await new Handler().set('/shop', page, {});
    disconnect(client);
    expect(await new Handler().get('/shop', PAGE)).toBeNull();
    await new Handler().set('/shop', page, {});
    await expect(new Handler().revalidateTag('prices')).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
    expect(errors.map((error) => (error as { code: string }).code)).toEqual([
      'ERR_CLIENT_CLOSED',
      'ERR_CLIENT_CLOSED',
    ]);
  });

  test('a build connects to nothing, and fetches an answer once', async () => {
    process.env['NEXT_PHASE'] = 'phase-production-build';
    const Handler = nextCacheHandler(() => {
      throw new Error('connected');
    }, 'app');
    await new Handler().set('hash', answer, { fetchCache: true });
    await new Handler().set('/shop', page, {});
    expect((await new Handler().get('hash', FETCH))!.value).toEqual(answer);
    expect(await new Handler().get('/shop', PAGE)).toBeNull();
    await new Handler().revalidateTag('prices');
    expect(await new Handler().get('hash', FETCH)).toBeNull();
  });
});

test('wrong arguments are refused at once', () => {
  expect(() => nextCacheHandler(redis as never, 'app')).toThrow(/connect/);
  expect(() => nextCacheHandler(() => redis, '')).toThrow(/name/);
  expect(() => nextCacheHandler(() => redis, 'app', { ttl: 1 } as NextCacheOptions)).toThrow(/ttl/);
  expect(() => nextCacheHandler(() => redis, 'app', { ttlMs: 1 })).toThrow(/ttlMs/);
});
