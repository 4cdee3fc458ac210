/** The example data of `npm start`: what is there afterwards, and that the next start leaves it alone. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { connect, freshPrefix } from '@mortise/test-kit';

import type { Answer, Api } from './fixture/api.js';
import { startApi } from './fixture/api.js';
import { dump } from './fixture/redis.js';

interface ExampleData {
  seed(address: string): Promise<{ readonly listingId: string; readonly guild: string }>;
  seedGuild(address: string): Promise<void>;
}

const redis = connect();
const prefix = freshPrefix();
let api: Api;
let data: ExampleData;

beforeAll(async () => {
  api = await startApi({ MORTISE_PREFIX: prefix });
  const address = new URL('../../../tooling/start/seed.mjs', import.meta.url).href;
  data = (await import(address)) as ExampleData;
});
afterAll(() => api.app.close());

const read = async (path: string): Promise<Answer['json']> => (await api.send({ path: `/v1/${path}` })).json;
const complete = async (text: string, limit = 1): Promise<string[]> => {
  const query = new URLSearchParams({ by: 'frank', prefix: text, limit: String(limit) }).toString();
  const { items } = await read(`address-books/dragons/completions?${query}`);
  return items.map(({ display }: { display: string }) => display);
};
const bookNow = async (): Promise<string> =>
  JSON.stringify(
    Object.entries(await dump(redis, prefix)).filter(([key]) => key.includes(':autocomplete:{dragons}')),
  );

test('a guild has 10,000 names in many scripts, and stays as it is when it is seeded again', async () => {
  const { guild } = await data.seed(api.url);
  // As by a start that was cut off.
  const body = { display: 'Frank' };
  await api.send({ method: 'PUT', path: `/v1/address-books/${guild}/names/frank?by=frank`, body });
  await data.seedGuild(api.url);
  expect(guild).toBe('dragons');
  expect(await read('address-books/dragons?by=frank')).toEqual({ guild, size: 10_000 });
  const found: [string, string][] = [
    ['smith', 'Frances Smith'],
    ['nowak lu', 'Łukasz Nowak'],
    ['ΣΟΦ', 'Σοφία Παπαδοπούλου'],
    ['иванов ив', 'Иван Иванов'],
    ['محم', 'محمد العلي'],
    ['ใจดี', 'สมชาย ใจดี'],
    ['अमि', 'अमित शर्मा'],
    ['김민', '김민준'],
    ['王', '王伟'],
    ['さくら', 'サトウ さくら'],
    ['😀', 'ナカムラ 😀 🚀'],
  ];
  for (const [text, display] of found) expect([text, (await complete(text, 10))[0]]).toEqual([text, display]);

  await api.send({ method: 'DELETE', path: '/v1/address-books/dragons/names/p-09997?by=frank' });
  const before = await bookNow();
  await data.seedGuild(api.url);
  expect((await bookNow()) === before).toBe(true);
}, 200_000);

test('each start offers an item that is still to be had', async () => {
  const offers = [await data.seed(api.url), await data.seed(api.url)];
  expect(new Set(offers.map(({ listingId }) => listingId)).size).toBe(2);
  for (const { listingId } of offers) {
    expect((await api.send({ path: `/v1/market/listings/${listingId}` })).status).toBe(200);
  }
});

test('a guild that others have made theirs is left to them', async () => {
  await api.send({ method: 'DELETE', path: '/v1/address-books/dragons/names/frank?by=frank' });
  const before = await bookNow();
  await data.seedGuild(api.url);
  expect((await bookNow()) === before).toBe(true);
});
