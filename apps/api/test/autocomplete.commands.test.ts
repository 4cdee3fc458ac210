/** Which commands the routes of contacts and address books send, and that what only reads writes nothing. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { connect, freshPrefix, transcript } from '@mortise/test-kit';

import type { Answer, Api } from './fixture/api.js';
import { startApi } from './fixture/api.js';
import { dump } from './fixture/redis.js';

const redis = connect();
const prefix = freshPrefix();
let api: Api;

beforeAll(async () => {
  api = await startApi({ MORTISE_PREFIX: prefix });
});
afterAll(() => api.app.close());

const ask = async (method: string, path: string, body?: object): Promise<Answer> => {
  const answer = await api.send({ method, path: `/v1/${path}`, ...(body && { body }) });
  expect([path, answer.status < 300]).toEqual([path, true]);
  return answer;
};

/** Runs the steps, and tells for each what the API sent, without what scripts did inside. */
async function sentBy(steps: Record<string, () => Promise<unknown>>): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  for (const [name, act] of Object.entries(steps)) {
    const lines = await transcript(redis, { prefix }, act);
    found[name] = lines.flatMap((line) => (line.startsWith(' ') ? [] : line.split(' ', 1)));
  }
  return found;
}

const reads = (n: number): Record<string, () => Promise<unknown>> => ({
  contacts: () => ask('GET', `contacts/ann-${n}?prefix=j`),
  addressBook: () => ask('GET', `address-books/elves-${n}?by=frank`),
  readName: () => ask('GET', `address-books/elves-${n}/names/john?by=frank`),
  completions: () => ask('GET', `address-books/elves-${n}/completions?by=frank&prefix=jo`),
  'completions, two words': () => ask('GET', `address-books/elves-${n}/completions?by=frank&prefix=jo+sm`),
  'completions, by the alphabet': () =>
    ask('GET', `address-books/elves-${n}/completions?by=frank&order=alphabetical`),
  'completions, with an error': () =>
    ask('GET', `address-books/elves-${n}/completions?by=frank&prefix=jhon&fuzzy=true`),
  mentions: () => ask('GET', `address-books/elves-${n}/mentions?by=frank&prefix=jo`),
});

const writes = (n: number): Record<string, () => Promise<unknown>> => ({
  touch: () => ask('PUT', `contacts/ann-${n}/jill`),
  remove: () => ask('DELETE', `contacts/ann-${n}/jack`),
  found: () => ask('PUT', `address-books/elves-${n}/names/frank?by=frank`, {}),
  putName: () =>
    ask('PUT', `address-books/elves-${n}/names/john?by=frank`, { display: 'John Smith', score: 1 }),
  putNames: () =>
    ask('POST', `address-books/elves-${n}/name-batches?by=frank`, { names: [{ name: 'a' }, { name: 'b' }] }),
  boost: () => ask('POST', `address-books/elves-${n}/names/john/boost?by=frank`, {}),
  removeName: () => ask('DELETE', `address-books/elves-${n}/names/a?by=frank`),
});

test('the commands of the routes', async () => {
  // A first run of each has the scripts known to the server.
  for (const steps of [writes(1), reads(1)]) await sentBy(steps);
  expect(await sentBy(writes(2))).toEqual({
    touch: ['evalsha'],
    remove: ['evalsha'],
    // The member and the size of the book; both again under the lock; the name.
    found: ['evalsha_ro', 'hget', 'evalsha', 'evalsha_ro', 'hget', 'evalsha', 'evalsha'],
    // The member and the size of the book, at once; then the name.
    putName: ['evalsha_ro', 'hget', 'evalsha'],
    putNames: ['evalsha_ro', 'hget', 'evalsha'],
    boost: ['evalsha_ro', 'evalsha'],
    removeName: ['evalsha_ro', 'evalsha'],
  });
  const before = await dump(redis, prefix);
  expect(await sentBy(reads(2))).toEqual({
    contacts: ['evalsha_ro'],
    // The member and the completion, at once.
    addressBook: ['evalsha_ro', 'hget'],
    readName: ['evalsha_ro', 'evalsha_ro'],
    completions: ['evalsha_ro', 'evalsha_ro'],
    'completions, two words': ['evalsha_ro', 'evalsha_ro'],
    'completions, by the alphabet': ['evalsha_ro', 'evalsha_ro'],
    'completions, with an error': ['evalsha_ro', 'evalsha_ro', 'evalsha_ro'],
    mentions: ['evalsha_ro', 'evalsha_ro', 'evalsha_ro'],
  });
  expect(await dump(redis, prefix)).toEqual(before);
});

test('a removed contact or name leaves nothing', async () => {
  await ask('PUT', 'contacts/leaving/jill');
  await ask('PUT', 'address-books/leaving/names/frank?by=frank', {});
  const batch = { names: Array.from({ length: 300 }, (_, n) => ({ name: `n-${n}`, display: `Name ${n}` })) };
  await ask('POST', 'address-books/leaving/name-batches?by=frank', batch);
  await ask('DELETE', 'contacts/leaving/jill');
  await Promise.all(
    batch.names.map(({ name }) => ask('DELETE', `address-books/leaving/names/${name}?by=frank`)),
  );
  await ask('DELETE', 'address-books/leaving/names/frank?by=frank');
  expect(Object.keys(await dump(redis, prefix)).filter((key) => key.includes('leaving'))).toEqual([]);
});
