/** Recent contacts and address books of guilds over HTTP. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { connect } from '@mortise/test-kit';

import type { Answer } from './fixture/api.js';
import { startApi } from './fixture/api.js';
import { dump } from './fixture/redis.js';
import { isOfMarket, sentBy } from './fixture/sent-by.js';

const api = await startApi();

describe('recent contacts', () => {
  const askFor = (method: string, user: string, contact: string): Promise<Answer> =>
    api.send({ method, path: `/v1/contacts/${user}/${encodeURIComponent(contact)}` });
  async function touch(user: string, ...contacts: string[]): Promise<void> {
    for (const contact of contacts)
      expect([contact, (await askFor('PUT', user, contact)).status]).toEqual([contact, 204]);
  }
  async function contactsOf(user: string, query: Record<string, string> = {}): Promise<string[]> {
    const text = new URLSearchParams(query).toString();
    const { status, json } = await api.send({ path: `/v1/contacts/${user}${text === '' ? '' : `?${text}`}` });
    expect(status).toBe(200);
    return json.items.map(({ contact }: { contact: string }) => contact);
  }

  test('the last touched come first, and what is taken out is gone', async () => {
    await touch('anna', 'Jean', 'Łukasz', 'José', 'Jill', 'Jean');
    expect(await contactsOf('anna')).toEqual(['Jean', 'Jill', 'José', 'Łukasz']);
    expect(await contactsOf('anna', { limit: '2' })).toEqual(['Jean', 'Jill']);
    expect((await askFor('DELETE', 'anna', 'Jill')).status).toBe(204);
    expect((await askFor('DELETE', 'anna', 'Jill')).status).toBe(204);
    expect(await contactsOf('anna')).toEqual(['Jean', 'José', 'Łukasz']);
    expect(await contactsOf('nobody')).toEqual([]);
  });

  test('many of them are touched at once, the last one most recently', async () => {
    await touch('gina', 'Jean');
    const send = (contacts: string[]): Promise<Answer> =>
      api.send({ method: 'POST', path: '/v1/contacts/gina', body: { contacts } });
    expect((await send(['Jill', 'José', 'Jean'])).status).toBe(204);
    expect(await contactsOf('gina')).toEqual(['Jean', 'José', 'Jill']);
    expect((await send(Array.from({ length: 1_000 }, (_, n) => `c-${n}`))).status).toBe(204);
    expect((await contactsOf('gina')).slice(0, 2)).toEqual(['c-999', 'c-998']);
  });

  test('a contact is completed whatever its case, accents and width', async () => {
    await touch('bill', 'ΟΔΟΣ', 'Straße', '존경', 'José', 'ＪＯＡＮ', '김민준', 'Женя', '😀 smiles');
    const found: [string, string[]][] = [
      ['jo', ['ＪＯＡＮ', 'José']],
      ['JOSE', ['José']],
      ['strass', ['Straße']],
      ['조', ['존경']],
      ['жен', ['Женя']],
      ['οδος', ['ΟΔΟΣ']],
      ['😀', ['😀 smiles']],
      ['x', []],
    ];
    for (const [prefix, contacts] of found) {
      expect([prefix, await contactsOf('bill', { prefix })]).toEqual([prefix, contacts]);
    }
  });

  test('a typed prefix may be any text: characters that no name can have are ignored', async () => {
    await touch('carl', 'Jill', 'Joan');
    const all = ['Joan', 'Jill'];
    for (const prefix of ['', '   ', '\u0301\u0301', '\0', '\u3000\t\n', '\u202e']) {
      expect([prefix, await contactsOf('carl', { prefix })]).toEqual([prefix, all]);
    }
    expect(await contactsOf('carl', { prefix: ' \0JO\u0301' })).toEqual(['Joan']);
    expect(await contactsOf('carl', { prefix: 'x'.repeat(10_000) })).toEqual([]);
    expect(await contactsOf('carl', { prefix: `jo${'\u0301'.repeat(1_600)}` })).toEqual(['Joan']);
    // Halves of surrogate pairs are no UTF-8.
    for (const half of ['%ED%A0%80', '%ED%B0%80', 'J%ED%A0%BD']) {
      const { status, json } = await api.send({ path: `/v1/contacts/carl?prefix=${half}` });
      expect([half, status, json.type]).toEqual([half, 400, 'https://mortise.dev/problems/malformed-url']);
    }
  });

  test('a contact is any text of up to 1,024 bytes, compared byte by byte', async () => {
    const odd = ['a/b', '100%', 'a b', '{x}', '"', "<b>'", 'Jack', 'jack', 'é'.repeat(512), '?#&=', '\\'];
    await touch('dora', ...odd);
    expect(await contactsOf('dora')).toEqual(odd.toReversed());
  });

  test('a contact with an id is found by the text after it', async () => {
    await touch('fred', 'lukasz-7|Łukasz Nowak', '|bar', 'bar|', 'a|b|c');
    expect(await contactsOf('fred', { prefix: 'luk' })).toEqual(['lukasz-7|Łukasz Nowak']);
    expect(await contactsOf('fred', { prefix: 'lukasz-' })).toEqual([]);
    expect(await contactsOf('fred', { prefix: 'bar' })).toEqual(['bar|', '|bar']);
    expect(await contactsOf('fred', { prefix: 'b|' })).toEqual(['a|b|c']);
    expect((await askFor('DELETE', 'fred', 'lukasz-7|Łukasz Nowak')).status).toBe(204);
    expect(await contactsOf('fred', { prefix: 'luk' })).toEqual([]);
  });

  test('100 of them are kept', async () => {
    for (let from = 0; from < 120; from += 40) {
      const some = Array.from({ length: 40 }, (_, n) => `c-${from + n}`);
      await Promise.all(some.map((contact) => askFor('PUT', 'emma', contact)));
    }
    expect((await contactsOf('emma')).length).toBe(100);
    expect((await contactsOf('emma', { limit: '100', prefix: 'C-1' })).length).toBe(20);
  });
});

const ask = (method: string, path: string, body?: object): Promise<Answer> =>
  api.send({ method, path: `/v1/address-books/${path}`, ...(body && { body }) });
const put = (guild: string, name: string, body: object = {}, by = 'frank'): Promise<Answer> =>
  ask('PUT', `${guild}/names/${name}?by=${by}`, body);
const putAll = (guild: string, names: object[], by = 'frank'): Promise<Answer> =>
  ask('POST', `${guild}/name-batches?by=${by}`, { names });

async function page(guild: string, query: Record<string, string> = {}): Promise<Answer['json']> {
  const { status, json } = await ask(
    'GET',
    `${guild}/completions?${new URLSearchParams({ by: 'frank', ...query }).toString()}`,
  );
  expect([status, json]).toEqual([200, expect.anything()]);
  return json;
}
const complete = async (
  guild: string,
  prefix: string,
  query: Record<string, string> = {},
): Promise<string[]> =>
  (await page(guild, { prefix, ...query })).items.map(({ name }: { name: string }) => name);

/** The status and the last word of the type of a problem. */
const verdict = ({ status, json }: Answer): [number, string] => [
  status,
  String(json?.type).split('/').at(-1)!,
];

const PEOPLE = [
  { name: 'frank', display: 'Frank', score: 10 },
  { name: 'lukasz-7', display: 'Łukasz Nowak', aliases: ['Luk'], score: 50, payload: { level: 7 } },
  { name: 'john', display: 'John Smith', score: 30 },
  { name: 'joan', display: 'Smith, Joan', score: 40 },
  { name: 'jose', display: 'José', score: 20 },
  { name: 'minjun', display: '김민준', aliases: ['Minjun'], score: 5 },
];

describe('the book', () => {
  test('is created by the first player who adds themselves, and grows by its members', async () => {
    expect(verdict(await ask('GET', 'dragons?by=frank'))).toEqual([403, 'not-in-guild']);
    expect(verdict(await put('dragons', 'bill'))).toEqual([403, 'not-in-guild']);
    const created = await put('dragons', 'frank', { display: 'Frank' });
    expect([created.status, created.json]).toEqual([201, { name: 'frank', isNew: true }]);
    const again = await put('dragons', 'frank', { display: 'Franky' });
    expect([again.status, again.json]).toEqual([200, { name: 'frank', isNew: false }]);
    expect(verdict(await put('dragons', 'bill', {}, 'bill'))).toEqual([403, 'not-in-guild']);
    expect((await put('dragons', 'bill')).status).toBe(201);
    expect((await put('dragons', 'mia', {}, 'bill')).status).toBe(201);
    expect((await ask('GET', 'dragons?by=mia')).json).toEqual({ guild: 'dragons', size: 3 });
  });

  test('is created by a batch with the creator in it', async () => {
    expect(verdict(await putAll('wolves', PEOPLE.slice(1)))).toEqual([403, 'not-in-guild']);
    const created = await putAll('wolves', PEOPLE);
    expect([created.status, created.json]).toEqual([200, { added: 6, changed: 0 }]);
    const more = await putAll('wolves', [{ name: 'mia' }, ...PEOPLE]);
    expect([more.status, more.json]).toEqual([200, { added: 1, changed: 6 }]);
    expect((await ask('GET', 'wolves?by=minjun')).json).toEqual({ guild: 'wolves', size: 7 });
  });

  test('has one creator, however many try at once', async () => {
    const players = Array.from({ length: 8 }, (_, n) => `player-${n}`);
    // 409: the lock was not granted within half a second. The answer says to try again.
    const found = async (player: string): Promise<Answer> => {
      const answer = await put('race', player, {}, player);
      return answer.status === 409 ? found(player) : answer;
    };
    const answers = await Promise.all(players.map(found));
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([201, ...Array(7).fill(403)]);
    const creator = players[answers.findIndex(({ status }) => status === 201)];
    expect((await ask('GET', `race?by=${creator}`)).json.size).toBe(1);
  });

  test('tells all that is stored of a name', async () => {
    await putAll('read', PEOPLE);
    const { status, json } = await ask('GET', 'read/names/lukasz-7?by=frank');
    expect([status, json]).toEqual([
      200,
      { name: 'lukasz-7', display: 'Łukasz Nowak', aliases: ['Luk'], score: 50, payload: { level: 7 } },
    ]);
    await put('read', 'plain');
    expect((await ask('GET', 'read/names/plain?by=frank')).json).toEqual({
      name: 'plain',
      display: 'plain',
      aliases: [],
      score: 0,
    });
    expect(verdict(await ask('GET', 'read/names/nobody?by=frank'))).toEqual([404, 'unknown-name']);
  });

  test('keeps the score of a name that is changed without one', async () => {
    await putAll('scores', [{ name: 'frank' }, { name: 'mia', score: 7 }]);
    await put('scores', 'mia', { display: 'Mia' });
    expect((await ask('GET', 'scores/names/mia?by=frank')).json).toMatchObject({ display: 'Mia', score: 7 });
    await put('scores', 'mia', { score: -1.5 });
    expect((await ask('GET', 'scores/names/mia?by=frank')).json).toMatchObject({
      display: 'mia',
      score: -1.5,
    });
  });

  test('loses a name, and with the last one its guild', async () => {
    await putAll('leave', [{ name: 'frank' }, { name: 'mia' }]);
    expect((await ask('DELETE', 'leave/names/mia?by=frank')).status).toBe(204);
    expect((await ask('DELETE', 'leave/names/mia?by=frank')).status).toBe(204);
    expect(verdict(await ask('GET', 'leave?by=mia'))).toEqual([403, 'not-in-guild']);
    expect(await complete('leave', 'mia')).toEqual([]);
    expect((await ask('DELETE', 'leave/names/frank?by=frank')).status).toBe(204);
    expect(verdict(await ask('DELETE', 'leave/names/frank?by=frank'))).toEqual([403, 'not-in-guild']);
    expect((await put('leave', 'mia', {}, 'mia')).status).toBe(201);
  });

  test('takes no name with more words than it can be found by', async () => {
    await putAll('words', [{ name: 'frank' }]);
    const aliases = Array.from({ length: 16 }, (_, n) => `a${n} b c d e f`);
    const refused = await put('words', 'long', { display: 'g h i j k l', aliases });
    expect(verdict(refused)).toEqual([413, 'entry-too-large']);
    expect(refused.json).toMatchObject({ key: 'long', maxForms: 128 });
    expect(verdict(await putAll('words', [{ name: 'ok' }, { name: 'long', aliases }]))[0]).toBe(413);
    expect((await ask('GET', 'words?by=frank')).json.size).toBe(1);
  });

  test('raises and lowers scores', async () => {
    await putAll('boosts', [{ name: 'frank' }, { name: 'ann', score: 2 }, { name: 'amy', score: 3 }]);
    expect(await complete('boosts', 'a')).toEqual(['amy', 'ann']);
    const boost = (name: string, body: object): Promise<Answer> =>
      ask('POST', `boosts/names/${name}/boost?by=frank`, body);
    const raised = await boost('ann', { amount: 5 });
    expect([raised.status, raised.json]).toEqual([200, { name: 'ann', score: 7 }]);
    expect(await complete('boosts', 'a')).toEqual(['ann', 'amy']);
    expect((await boost('ann', { amount: -6.5 })).json.score).toBe(0.5);
    expect((await boost('ann', {})).json.score).toBe(1.5);
    expect(await complete('boosts', 'a')).toEqual(['amy', 'ann']);
    expect(verdict(await boost('nobody', {}))).toEqual([404, 'unknown-name']);
  });

  test('is boosted once by an Idempotency-Key, and by no other boost with it', async () => {
    await putAll('keyed', [{ name: 'frank' }, { name: 'ann', score: 2 }]);
    const boost = (name: string, key: string, body: object): Promise<Answer> =>
      api.send({
        method: 'POST',
        path: `/v1/address-books/keyed/names/${name}/boost?by=frank`,
        body,
        headers: { 'idempotency-key': key },
      });
    expect((await boost('ann', 'b-1', { amount: 5 })).json).toEqual({ name: 'ann', score: 7 });
    expect((await boost('ann', 'b-2', { amount: 5 })).json).toEqual({ name: 'ann', score: 12 });
    const again = await Promise.all([1, 2, 3].map(() => boost('ann', '"b-1"', { amount: 5 })));
    expect(again.map(({ status, json }) => [status, json.score])).toEqual([1, 2, 3].map(() => [200, 7]));
    expect((await ask('GET', 'keyed/names/ann?by=frank')).json.score).toBe(12);
    expect(verdict(await boost('ann', 'b-1', { amount: 6 }))).toEqual([422, 'request-reused']);
    expect((await boost('frank', 'b-1', { amount: 5 })).json.requestKey).toBe('b-1');
    expect(verdict(await boost('ann', 'a b', {}))).toEqual([400, 'invalid-idempotency-key']);
    expect((await ask('GET', 'keyed/names/ann?by=frank')).json.score).toBe(12);
  });
});

test('completions and contacts say how long they took at the API', async () => {
  await api.send({ method: 'PUT', path: '/v1/contacts/timed/jill' });
  await put('timed', 'frank');
  for (const path of ['contacts/timed?prefix=j', 'address-books/timed/completions?by=frank&prefix=f']) {
    const { headers, json } = await api.send({ path: `/v1/${path}` });
    const [, ms] = /^complete;dur=(\d+\.\d{3})$/.exec(headers['server-timing'] as string)!;
    expect(json.items).toHaveLength(1);
    expect(Number(ms)).toBeGreaterThan(0);
    expect(Number(ms)).toBeLessThan(10_000);
  }
});

describe('completions', () => {
  beforeAll(async () => {
    await putAll('elves', PEOPLE);
  });

  test('are the best first, with what is shown and which of it matches', async () => {
    const { items, nextCursor } = await page('elves', { prefix: 'LUK' });
    expect(items).toEqual([
      {
        name: 'lukasz-7',
        display: 'Łukasz Nowak',
        score: 50,
        payload: { level: 7 },
        matches: [{ start: 0, end: 3 }],
        isFuzzy: false,
      },
    ]);
    expect(nextCursor).toBe(null);
  });

  test.each([
    ['', ['lukasz-7', 'joan', 'john', 'jose', 'frank', 'minjun']],
    ['j', ['joan', 'john', 'jose']],
    ['jo sm', ['joan', 'john']],
    ['smith jo', ['joan', 'john']],
    ['JOSÉ', ['jose']],
    ['now', ['lukasz-7']],
    ['김미', ['minjun']],
    ['ㄱ', ['minjun']],
    ['minj', ['minjun']],
    ['x', []],
    ['   ', ['lukasz-7', 'joan', 'john', 'jose', 'frank', 'minjun']],
    ['\u0301', ['lukasz-7', 'joan', 'john', 'jose', 'frank', 'minjun']],
    ['\0', ['lukasz-7', 'joan', 'john', 'jose', 'frank', 'minjun']],
    ['x'.repeat(10_000), []],
    ['\u{1f600}'.repeat(1_000), []],
    [`jo${' '.repeat(1_000)}sm`, ['joan', 'john']],
    // Characters after the first 1,024 are ignored.
    [`jo${' '.repeat(10_000)}sm`, ['joan', 'john', 'jose']],
  ])('of %j', async (prefix, names) => {
    expect(await complete('elves', prefix)).toEqual(names);
  });

  test('forgive an error where they are asked to', async () => {
    expect(await complete('elves', 'smtih')).toEqual([]);
    expect(await complete('elves', 'smtih', { fuzzy: 'true' })).toEqual(['joan', 'john']);
    expect(await complete('elves', 'jo', { fuzzy: 'true' })).toEqual(
      expect.arrayContaining(['joan', 'john', 'jose']),
    );
  });

  test.each(['score', 'alphabetical'])('come page by page, by %s', async (order) => {
    const all = await complete('elves', '', { order });
    expect(all.length).toBe(6);
    const found: string[] = [];
    let cursor: string | null | undefined;
    let pages = 0;
    do {
      const { items, nextCursor } = await page('elves', { order, limit: '2', ...(cursor && { cursor }) });
      found.push(...items.map(({ name }: { name: string }) => name));
      cursor = nextCursor;
      pages += 1;
    } while (cursor !== null && pages < 10);
    expect(found).toEqual(all);
  });

  test('by score end at the 10,000th name, and go on by the alphabet', async () => {
    const names = Array.from({ length: 10_100 }, (_, n) => ({ name: `n-${n}`, score: n }));
    await putAll('deep', [{ name: 'frank' }]);
    for (let from = 0; from < names.length; from += 1_000)
      await putAll('deep', names.slice(from, from + 1_000));
    let cursor: string | undefined;
    for (let pages = 0; pages < 100; pages += 1) {
      const { items, nextCursor } = await page('deep', { limit: '100', ...(cursor && { cursor }) });
      expect(items[0].name).toBe(`n-${10_099 - 100 * pages}`);
      cursor = nextCursor;
    }
    const refused = await ask('GET', `deep/completions?by=frank&limit=100&cursor=${cursor}`);
    expect(verdict(refused)).toEqual([400, 'page-too-deep']);
    expect(refused.json).toMatchObject({ depth: 10_000, maxDepth: 10_000 });
    let listed = 0;
    let next: string | null | undefined;
    do {
      const query = { order: 'alphabetical', limit: '100', ...(next && { cursor: next }) };
      const { items, nextCursor } = await page('deep', query);
      listed += items.length;
      next = nextCursor;
    } while (next !== null);
    expect(listed).toBe(10_101);
  });

  test('refuse a cursor that is none', async () => {
    for (const cursor of ['x', '%00', 'e30', 'W10', 'x'.repeat(4_096)]) {
      const answer = await ask('GET', `elves/completions?by=frank&cursor=${cursor}`);
      expect([cursor, verdict(answer)]).toEqual([cursor, [400, 'invalid-cursor']]);
    }
  });

  test('are for members only', async () => {
    expect(verdict(await ask('GET', 'elves/completions?by=mallory&prefix=j'))).toEqual([403, 'not-in-guild']);
    expect(verdict(await ask('GET', 'elves/completions?by=mallory&cursor=x'))).toEqual([403, 'not-in-guild']);
  });
});

test('mentions are recent contacts first, then the book, everybody once', async () => {
  await putAll('hall', PEOPLE);
  const mention = async (query: string): Promise<Answer['json']> =>
    (await ask('GET', `hall/mentions?by=frank&${query}`)).json;
  for (const contact of ['mia|Joana', 'jose|José']) {
    await api.send({ method: 'PUT', path: `/v1/contacts/frank/${encodeURIComponent(contact)}` });
  }
  expect(await mention('prefix=JO&limit=3')).toEqual({
    items: [
      { name: 'jose', display: 'José', isRecent: true, score: 20, matches: [{ start: 0, end: 2 }] },
      { name: 'mia', display: 'Joana', isRecent: true, matches: [{ start: 0, end: 2 }] },
      { name: 'joan', display: 'Smith, Joan', isRecent: false, score: 40, matches: [{ start: 7, end: 9 }] },
    ],
    isComplete: true,
  });
  expect((await mention('prefix=')).items.map(({ name }: { name: string }) => name)).toEqual([
    'jose',
    'mia',
    'lukasz-7',
    'joan',
    'john',
    'frank',
    'minjun',
  ]);
  expect((await mention('prefix=smtih&fuzzy=true')).items.length).toBe(2);
  expect(verdict(await ask('GET', 'hall/mentions?by=mallory'))).toEqual([403, 'not-in-guild']);
});

test('nobody but members reads or changes anything of a guild', async () => {
  await putAll('castle', [{ name: 'frank' }, { name: 'mia', score: 3 }]);
  await putAll('village', [{ name: 'bill' }], 'bill');
  const tries: [string, string, object?][] = [
    ['GET', 'castle'],
    ['GET', 'castle/names/mia'],
    ['GET', 'castle/completions'],
    ['GET', 'castle/mentions'],
    ['PUT', 'castle/names/bill', {}],
    ['PUT', 'castle/names/mia', { display: 'Changed' }],
    ['POST', 'castle/name-batches', { names: [{ name: 'bill' }, { name: 'mia', score: 9 }] }],
    ['POST', 'castle/names/mia/boost', { amount: 9 }],
    ['DELETE', 'castle/names/mia'],
    ['DELETE', 'castle/names/bill'],
  ];
  for (const [method, path, body] of tries) {
    for (const by of ['bill', 'nobody', 'Frank', 'frank-', '__proto__']) {
      const answer = await ask(method, `${path}?by=${by}`, body);
      expect([method, path, by, verdict(answer)]).toEqual([method, path, by, [403, 'not-in-guild']]);
      expect(answer.json).toMatchObject({ guild: 'castle', player: by });
    }
  }
  expect((await ask('GET', 'castle/names/mia?by=frank')).json).toMatchObject({ display: 'mia', score: 3 });
  expect((await ask('GET', 'castle?by=frank')).json.size).toBe(2);
});

test('a book that is full takes changes, and no more names', async () => {
  const small = await startApi({ BOOK_MAX_NAMES: '3' });
  const send = (names: object[]): Promise<Answer> =>
    small.send({ method: 'POST', path: '/v1/address-books/elves/name-batches?by=frank', body: { names } });
  const four = ['frank', 'a', 'b', 'c'].map((name) => ({ name }));
  expect(verdict(await send(four))).toEqual([409, 'too-many-names']);
  expect((await send(four.slice(0, 3))).json).toEqual({ added: 3, changed: 0 });
  const full = await send(four.slice(2));
  expect(full.json).toMatchObject({ guild: 'elves', size: 3, maxNames: 3 });
  expect(verdict(full)).toEqual([409, 'too-many-names']);
  expect((await send([{ name: 'b', score: 5 }])).json).toEqual({ added: 0, changed: 1 });
});

describe('the routes', () => {
  const redis = connect();

  const sent = async (method: string, path: string, body?: object): Promise<Answer> => {
    const answer = await api.send({ method, path: `/v1/${path}`, ...(body && { body }) });
    expect([path, answer.status < 300]).toEqual([path, true]);
    return answer;
  };

  const reads = (n: number): Record<string, () => Promise<unknown>> => ({
    contacts: () => sent('GET', `contacts/ann-${n}?prefix=j`),
    addressBook: () => sent('GET', `address-books/elves-${n}?by=frank`),
    readName: () => sent('GET', `address-books/elves-${n}/names/john?by=frank`),
    completions: () => sent('GET', `address-books/elves-${n}/completions?by=frank&prefix=jo`),
    'completions, two words': () => sent('GET', `address-books/elves-${n}/completions?by=frank&prefix=jo+sm`),
    'completions, by the alphabet': () =>
      sent('GET', `address-books/elves-${n}/completions?by=frank&order=alphabetical`),
    'completions, with an error': () =>
      sent('GET', `address-books/elves-${n}/completions?by=frank&prefix=jhon&fuzzy=true`),
    mentions: () => sent('GET', `address-books/elves-${n}/mentions?by=frank&prefix=jo`),
  });

  const writes = (n: number): Record<string, () => Promise<unknown>> => ({
    touch: () => sent('PUT', `contacts/ann-${n}/jill`),
    remove: () => sent('DELETE', `contacts/ann-${n}/jack`),
    found: () => sent('PUT', `address-books/elves-${n}/names/frank?by=frank`, {}),
    putName: () =>
      sent('PUT', `address-books/elves-${n}/names/john?by=frank`, { display: 'John Smith', score: 1 }),
    putNames: () =>
      sent('POST', `address-books/elves-${n}/name-batches?by=frank`, {
        names: [{ name: 'a' }, { name: 'b' }],
      }),
    boost: () => sent('POST', `address-books/elves-${n}/names/john/boost?by=frank`, {}),
    removeName: () => sent('DELETE', `address-books/elves-${n}/names/a?by=frank`),
  });

  test('the commands of the routes', async () => {
    // A first run of each has the scripts known to the server.
    for (const steps of [writes(1), reads(1)]) await sentBy(redis, api.prefix, steps, isOfMarket);
    expect(await sentBy(redis, api.prefix, writes(2), isOfMarket)).toEqual({
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
    const before = await dump(redis, api.prefix);
    expect(await sentBy(redis, api.prefix, reads(2), isOfMarket)).toEqual({
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
    expect(await dump(redis, api.prefix)).toEqual(before);
  });

  test('a removed contact or name leaves nothing', async () => {
    await sent('PUT', 'contacts/leaving/jill');
    await sent('PUT', 'address-books/leaving/names/frank?by=frank', {});
    const batch = {
      names: Array.from({ length: 300 }, (_, n) => ({ name: `n-${n}`, display: `Name ${n}` })),
    };
    await sent('POST', 'address-books/leaving/name-batches?by=frank', batch);
    await sent('DELETE', 'contacts/leaving/jill');
    await Promise.all(
      batch.names.map(({ name }) => sent('DELETE', `address-books/leaving/names/${name}?by=frank`)),
    );
    await sent('DELETE', 'address-books/leaving/names/frank?by=frank');
    expect(Object.keys(await dump(redis, api.prefix)).filter((key) => key.includes('leaving'))).toEqual([]);
  });
});
