import { describe, expect, test } from '@jest/globals';
import { AddressBook, MentionCompleter, RecentContacts } from '@mortise/autocomplete';
import { connect, freshPrefix, transcript } from '@mortise/test-kit';
import * as scripts from '../src/scripts.gen.js';

const redis = connect();
const prefix = freshPrefix();
const scope = { prefix, scripts };
const recent = new RecentContacts(redis, { prefix });
const list = 'autocomplete:{anna}:recent:1';

test('each method is one round trip, and calls of a tick share one', async () => {
  // The first use of a script on a server sends its text.
  await recent.touch('anna', 'jack');
  await recent.complete('anna', 'j');

  expect(await transcript(redis, scope, () => recent.touch('anna', 'jill'))).toEqual([
    `evalsha recent-contacts.apply ${list}`,
    `  lrem ${list}`,
    `  lpush ${list}`,
    `  pexpire ${list}`,
  ]);
  expect(
    await transcript(redis, scope, () =>
      Promise.all([recent.touch('anna', 'joe'), recent.remove('anna', 'jack')]),
    ),
  ).toEqual([
    `evalsha recent-contacts.apply ${list} ${list}`,
    `  lrem ${list}`,
    `  lpush ${list}`,
    `  lrem ${list}`,
    `  ltrim ${list}`,
    `  pexpire ${list}`,
  ]);
  expect(await transcript(redis, scope, () => recent.complete('anna', 'j'))).toEqual([
    `evalsha_ro recent-contacts.complete ${list}`,
    `  lrange ${list}`,
  ]);
  expect(await transcript(redis, scope, () => recent.list('anna'))).toEqual([`lrange ${list}`]);
});

test('with a half-life it is one round trip as well', async () => {
  const ranked = new RecentContacts(redis, { prefix, halfLifeMs: 60_000 });
  const set = 'autocomplete:{anna}:ranked:1';
  await ranked.touch('anna', 'jack');

  expect(await transcript(redis, scope, () => ranked.touch('anna', 'jill'))).toEqual([
    `evalsha recent-contacts.rank ${set}`,
    '  time',
    `  zremrangebyrank ${set}`,
    `  zscore ${set}`,
    `  zremrangebyrank ${set}`,
    `  zadd ${set}`,
    `  pexpire ${set}`,
  ]);
  expect(
    await transcript(redis, scope, () =>
      Promise.all([ranked.touch('anna', 'jack'), ranked.remove('anna', 'jill')]),
    ),
  ).toEqual([
    `evalsha recent-contacts.rank ${set} ${set}`,
    '  time',
    `  zremrangebyrank ${set}`,
    `  zscore ${set}`,
    `  zadd ${set}`,
    `  zrem ${set}`,
    `  pexpire ${set}`,
  ]);
  expect(await transcript(redis, scope, () => ranked.complete('anna', 'j'))).toEqual([
    `evalsha_ro recent-contacts.complete ${set}`,
    `  zrange ${set}`,
  ]);
  expect(await transcript(redis, scope, () => ranked.list('anna'))).toEqual([`zrange ${set}`]);
});

test('a text that is too long for any name sends nothing', async () => {
  expect(await transcript(redis, scope, () => recent.complete('anna', 'j'.repeat(20_000)))).toEqual([]);
});

test('a mention completer sends nothing but one read for each source', async () => {
  const completer = new MentionCompleter(recent, []);
  expect(await transcript(redis, scope, () => completer.complete('anna', 'j'))).toEqual([
    `evalsha_ro recent-contacts.complete ${list}`,
    `  lrange ${list}`,
  ]);
});

describe('an address book', () => {
  const book = new AddressBook(redis, 'guild', { prefix });

  /** What is sent, and not what scripts do with it. */
  async function sent(act: () => Promise<unknown>): Promise<string[]> {
    const lines = await transcript(redis, scope, act);
    return lines.filter((line) => !line.startsWith(' ')).map((line) => line.split(' ').slice(0, 2).join(' '));
  }

  test('each method is one round trip, and changes of a tick share one', async () => {
    for (const _ of [1, 2]) {
      // The first round makes the scripts known to the server.
      await book.add({ key: 'jack' });
      await book.get('jack');
      await book.complete('jxck', { fuzzy: true });
      await book.complete('jo sm');
      await book.page('j', { order: 'alphabetical' });
    }
    expect(await sent(() => book.add({ key: 'jill' }))).toEqual(['evalsha book.apply']);
    expect(
      await sent(() =>
        Promise.all([book.add({ key: '1', display: 'Joe' }), book.boost('jill'), book.remove('jack')]),
      ),
    ).toEqual(['evalsha book.apply']);
    expect(await sent(() => book.addMany([{ key: 'jim' }, { key: 'jan' }]))).toEqual(['evalsha book.apply']);
    expect(await sent(() => book.get('jill'))).toEqual(['evalsha_ro book.get']);
    expect(await sent(() => book.complete('j'))).toEqual(['evalsha_ro book.quick']);
    expect(await sent(() => book.complete('j', { limit: 13 }))).toEqual(['evalsha_ro book.complete']);
    expect(await sent(() => book.complete('jo sm'))).toEqual(['evalsha_ro book.complete']);
    expect(await sent(() => book.page('j'))).toEqual(['evalsha_ro book.quick']);
    expect(await sent(() => book.page('j', { order: 'alphabetical' }))).toEqual(['evalsha_ro book.list']);
    expect(await sent(() => book.size())).toEqual(['hget autocomplete:{guild}:meta:1']);
  });

  test('completions of a tick share one, up to 32, and each has its own answer', async () => {
    const many = new AddressBook(redis, 'many', { prefix });
    const names = Array.from({ length: 40 }, (_, index) => `n${index + 10}`);
    await many.addMany(names.map((key) => ({ key })));
    let found: string[][] = [];
    const lines = await sent(async () => {
      const all = await Promise.all(names.map((name) => many.complete(name)));
      found = all.map((each) => each.map(({ key }) => key));
    });
    expect(lines).toEqual(['evalsha_ro book.quick', 'evalsha_ro book.quick']);
    expect(found).toEqual(names.map((name) => [name]));
  });

  test('where a top set does not tell enough entries, there is a second one', async () => {
    // Each entry has many members with the prefix, all of one rank, so a top set holds few entries.
    const alike = new AddressBook(redis, 'alike', { prefix });
    const keys = Array.from({ length: 60 }, (_, index) => `jo joan john jon joe jody${index}`);
    await alike.addMany(keys.map((key, index) => ({ key, score: index })));
    let found: readonly { key: string }[] = [];
    const lines = await sent(async () => {
      found = await alike.complete('jo');
    });
    expect(lines).toEqual(['evalsha_ro book.quick', 'evalsha_ro book.complete']);
    expect(found.map(({ key }) => key)).toEqual(keys.toReversed().slice(0, 10));
  });

  test('a top set that holds fewer than are wanted is read once', async () => {
    const few = new AddressBook(redis, 'few', { prefix });
    const keys = Array.from({ length: 5 }, (_, index) => `a b c d e f${index}`);
    await few.addMany(keys.map((key) => ({ key, aliases: ['g h i j k l', 'm n o p q r'] })));
    await few.complete('');
    const lines = await transcript(redis, scope, () => few.complete(''));
    const [quick = '', ...inner] = lines.slice(
      0,
      lines.findIndex((line) => line.includes('book.complete')),
    );
    expect(quick).toContain('evalsha_ro book.quick');
    expect(inner.filter((line) => line.startsWith('  zrange '))).toHaveLength(1);
  });

  test('a typing error is looked for only if there is room for what it finds', async () => {
    expect(await sent(() => book.complete('jill', { fuzzy: true, limit: 1 }))).toEqual([
      'evalsha_ro book.quick',
    ]);
    expect(await sent(() => book.complete('jlil', { fuzzy: true, limit: 1 }))).toEqual([
      'evalsha_ro book.quick',
      'evalsha_ro book.fuzzy',
    ]);
  });

  test('the best of all are one look at their top set, however many forms they have', async () => {
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
    const book1 = 'autocomplete:{world}:';
    let found: readonly { key: string; score: number }[] = [];
    const lines = await transcript(redis, scope, async () => {
      found = await world.complete('');
    });
    expect(lines).toEqual([
      `evalsha_ro book.quick ${['directory', 'cards', 'b:1:0', 't:1:', 'absent'].map((part) => book1 + (part.includes(':') ? part : `${part}:1`)).join(' ')}`,
      `  zrange ${book1}t:1:`,
      `  hmget ${book1}cards:1`,
    ]);
    expect(found.map(({ score }) => score)).toEqual(best);
    expect(new Set(found.map(({ key }) => key)).size).toBe(10);
  });

  test('mentions are one read for each source, all sent at once', async () => {
    const completer = new MentionCompleter(recent, [book, new AddressBook(redis, 'friends', { prefix })]);
    const lines = await sent(() => completer.complete('anna', 'j'));
    expect(lines).toEqual([
      'evalsha_ro recent-contacts.complete',
      'evalsha_ro book.quick',
      'evalsha_ro book.quick',
    ]);
  });
});
