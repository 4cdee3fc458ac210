import { describe, expect, test } from '@jest/globals';
import { AddressBook, RecentContacts } from '@mortise/autocomplete';
import { commands, commandTable, connect, freshPrefix } from '@mortise/test-kit';
import * as scripts from '../src/scripts.gen.js';

const redis = connect();
const prefix = freshPrefix();
const recent = new RecentContacts(redis, { prefix });
const ranked = new RecentContacts(redis, { prefix, halfLifeMs: 60_000 });

const scope = {
  prefix,
  scripts,
  /** Without the version of the normalization. */
  edit: (lines: readonly string[]) => lines.map((line) => line.replaceAll(/:1\b/g, '')),
};
/** The commands that are sent, without those that scripts call. */
const outside = { ...scope, show: 'outside' } as const;

test('recent contacts: each method is one round trip, and changes of a tick share one', async () => {
  // The first use of a script on a server sends its text.
  for (const contacts of [recent, ranked]) {
    await contacts.touch('anna', 'jack');
    await contacts.complete('anna', 'j');
  }
  const rows: string[] = [];
  for (const [kind, contacts] of Object.entries({ recent, ranked })) {
    const steps = {
      [`${kind}.touch`]: () => contacts.touch('anna', 'jill'),
      [`${kind}.touchMany`]: () => contacts.touchMany('anna', ['jack', 'jill']),
      [`${kind}.touch, remove`]: () =>
        Promise.all([contacts.touch('anna', 'joe'), contacts.remove('anna', 'jack')]),
      [`${kind}.complete`]: () => contacts.complete('anna', 'j'),
      [`${kind}.complete, too long`]: () => contacts.complete('anna', 'j'.repeat(20_000)),
      [`${kind}.list`]: () => contacts.list('anna'),
    };
    rows.push(await commandTable(redis, scope, steps));
  }
  expect(rows.join('\n')).toMatchInlineSnapshot(`
"recent.touch → recent-contacts.apply:  lpush recent · pexpire recent
recent.touchMany → recent-contacts.apply:  lpush recent ×2 · pexpire recent
recent.touch, remove → recent-contacts.apply:  lpush recent · llen recent · lrange recent · del recent · rpush recent · pexpire recent
recent.complete → recent-contacts.complete:  lrange recent
recent.complete, too long → nothing
recent.list → lrange recent
ranked.touch → recent-contacts.rank:  time · zremrangebyrank ranked · zscore ranked · zremrangebyrank ranked · zadd ranked · pexpire ranked
ranked.touchMany → recent-contacts.rank:  time · zremrangebyrank ranked · (zscore ranked · zadd ranked) ×2 · pexpire ranked
ranked.touch, remove → recent-contacts.rank:  time · zremrangebyrank ranked · zscore ranked · zremrangebyrank ranked · zadd ranked · zrem ranked · pexpire ranked
ranked.complete → recent-contacts.complete:  zrange ranked
ranked.complete, too long → nothing
ranked.list → zrange ranked"
`);
});

describe('an address book', () => {
  const book = new AddressBook(redis, 'guild', { prefix });

  test('each method is one round trip, and changes of a tick share one', async () => {
    for (const _ of [1, 2]) {
      // The first round sends the texts of the scripts.
      await book.add({ key: 'jack' });
      await book.get('jack');
      await book.complete('jxck', { fuzzy: true });
      await book.complete('jo sm');
      await book.page('j', { order: 'alphabetical' });
    }
    const steps = {
      add: () => book.add({ key: 'jill' }),
      'add, boost, remove': () =>
        Promise.all([book.add({ key: '1', display: 'Joe' }), book.boost('jill'), book.remove('jack')]),
      addMany: () => book.addMany([{ key: 'jim' }, { key: 'jan' }]),
      get: () => book.get('jill'),
      size: () => book.size(),
      complete: () => book.complete('j'),
      'complete, 13': () => book.complete('j', { limit: 13 }),
      'complete, two words': () => book.complete('jo sm'),
      'complete, fuzzy without room': () => book.complete('jill', { fuzzy: true, limit: 1 }),
      'complete, fuzzy': () => book.complete('jlil', { fuzzy: true, limit: 1 }),
      page: () => book.page('j'),
      'page, alphabetical': () => book.page('j', { order: 'alphabetical' }),
    };
    expect(await commandTable(redis, outside, steps)).toMatchInlineSnapshot(`
"add → book.apply
add, boost, remove → book.apply
addMany → book.apply
get → book.get
size → hget meta
complete → book.quick
complete, 13 → book.complete
complete, two words → book.complete
complete, fuzzy without room → book.quick
complete, fuzzy → book.quick | book.fuzzy
page → book.quick
page, alphabetical → book.list"
`);
  });

  test('completions of a tick share one, up to 32, and each has its own answer', async () => {
    const many = new AddressBook(redis, 'many', { prefix });
    const names = Array.from({ length: 40 }, (_, index) => `n${index + 10}`);
    await many.addMany(names.map((key) => ({ key })));
    let found: string[][] = [];
    const lines = await commands(redis, outside, async () => {
      const all = await Promise.all(names.map((name) => many.complete(name)));
      found = all.map((each) => each.map(({ key }) => key));
    });
    expect(lines).toBe('book.quick ×2');
    expect(found).toEqual(names.map((name) => [name]));
  });

  test('a top set with too few entries needs a second round trip', async () => {
    // Each entry has many members with the prefix, all of one rank, so a top set holds few entries.
    const alike = new AddressBook(redis, 'alike', { prefix });
    const keys = Array.from({ length: 60 }, (_, index) => `jo joan john jon joe jody${index}`);
    await alike.addMany(keys.map((key, index) => ({ key, score: index })));
    let found: readonly { key: string }[] = [];
    const lines = await commands(redis, outside, async () => {
      found = await alike.complete('jo');
    });
    expect(lines).toBe('book.quick\nbook.complete');
    expect(found.map(({ key }) => key)).toEqual(keys.toReversed().slice(0, 10));
  });

  test('a top set with too few members is read once', async () => {
    const few = new AddressBook(redis, 'few', { prefix });
    const keys = Array.from({ length: 5 }, (_, index) => `a b c d e f${index}`);
    await few.addMany(keys.map((key) => ({ key, aliases: ['g h i j k l', 'm n o p q r'] })));
    await few.complete('');
    const [quick, complete] = (await commands(redis, scope, () => few.complete(''))).split('\n');
    expect(quick).toMatchInlineSnapshot(`"book.quick:  zrange t: · hmget cards"`);
    expect(complete).toMatch(/^book\.complete:/);
  });

  test('the best of all are one read of their top set, however many forms they have', async () => {
    const scripts10 = ['anna', 'élan', 'άννα', 'жора', 'محمد', 'สมชาย', 'कमल', '존경', '王中', '😀👍'];
    const people = Array.from({ length: 600 }, (_, index) => {
      const word = scripts10[index % scripts10.length]!;
      const name = `${word}${index} ${scripts10[Math.floor(index / 10) % 10]!} ${word}`;
      return {
        key: String(index),
        display: name,
        aliases: [`x${index} ${word}`, `y ${name}`],
        score: index % 97,
      };
    });
    const world = new AddressBook(redis, 'world', { prefix });
    await world.addMany(people);
    const best = people
      .toSorted((a, b) => b.score - a.score)
      .slice(0, 10)
      .map(({ score }) => score);
    let found: readonly { key: string; score: number }[] = [];
    const line = await commands(redis, scope, async () => {
      found = await world.complete('');
    });
    expect(line).toMatchInlineSnapshot(`"book.quick:  zrange t: · hmget cards"`);
    expect(found.map(({ score }) => score)).toEqual(best);
    expect(new Set(found.map(({ key }) => key)).size).toBe(10);
  });
});
