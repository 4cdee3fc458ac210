import { describe, expect, test } from '@jest/globals';
import { AddressBook, RecentContacts } from '@mortise/autocomplete';
import { connect, freshPrefix, transcript } from '@mortise/test-kit';
import * as scripts from '../src/scripts.gen.js';

const redis = connect();
const prefix = freshPrefix();
const recent = new RecentContacts(redis, { prefix });
const ranked = new RecentContacts(redis, { prefix, halfLifeMs: 60_000 });

/** Each command that is sent, with the commands that its script calls. */
async function commands(action: () => Promise<unknown>): Promise<string> {
  const lines = await transcript(redis, { prefix, scripts }, action);
  const sent = lines.map((line) => line.replaceAll(/autocomplete:\{\w+\}:(\w+):1/g, '$1'));
  return sent.join('\n').replaceAll('\n  ', ' | ');
}

test('recent contacts: each method is one round trip, and changes of a tick share one', async () => {
  // The first use of a script on a server sends its text.
  for (const contacts of [recent, ranked]) {
    await contacts.touch('anna', 'jack');
    await contacts.complete('anna', 'j');
  }
  const lines: Record<string, string> = {};
  for (const [kind, contacts] of Object.entries({ recent, ranked })) {
    lines[`${kind} touch`] = await commands(() => contacts.touch('anna', 'jill'));
    lines[`${kind} touch, remove`] = await commands(() =>
      Promise.all([contacts.touch('anna', 'joe'), contacts.remove('anna', 'jack')]),
    );
    lines[`${kind} complete`] = await commands(() => contacts.complete('anna', 'j'));
    lines[`${kind} complete, too long`] = await commands(() => contacts.complete('anna', 'j'.repeat(20_000)));
    lines[`${kind} list`] = await commands(() => contacts.list('anna'));
  }
  expect(lines).toMatchInlineSnapshot(`
{
  "ranked complete": "evalsha_ro recent-contacts.complete ranked | zrange ranked",
  "ranked complete, too long": "",
  "ranked list": "zrange ranked",
  "ranked touch": "evalsha recent-contacts.rank ranked | time | zremrangebyrank ranked | zscore ranked | zremrangebyrank ranked | zadd ranked | pexpire ranked",
  "ranked touch, remove": "evalsha recent-contacts.rank ranked ranked | time | zremrangebyrank ranked | zscore ranked | zremrangebyrank ranked | zadd ranked | zrem ranked | pexpire ranked",
  "recent complete": "evalsha_ro recent-contacts.complete recent | lrange recent",
  "recent complete, too long": "",
  "recent list": "lrange recent",
  "recent touch": "evalsha recent-contacts.apply recent | lrem recent | lpush recent | pexpire recent",
  "recent touch, remove": "evalsha recent-contacts.apply recent recent | lrem recent | lpush recent | lrem recent | ltrim recent | pexpire recent",
}
`);
});

describe('an address book', () => {
  const book = new AddressBook(redis, 'guild', { prefix });

  /** The commands that are sent, without those that scripts call. */
  async function sent(act: () => Promise<unknown>): Promise<string> {
    const lines = (await commands(act)).split('\n');
    return lines.map((line) => line.split(' ').slice(0, 2).join(' ')).join(', ');
  }

  test('each method is one round trip, and changes of a tick share one', async () => {
    for (const _ of [1, 2]) {
      // The first round sends the texts of the scripts.
      await book.add({ key: 'jack' });
      await book.get('jack');
      await book.complete('jxck', { fuzzy: true });
      await book.complete('jo sm');
      await book.page('j', { order: 'alphabetical' });
    }
    const acts: Record<string, () => Promise<unknown>> = {
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
    const lines: Record<string, string> = {};
    for (const [name, act] of Object.entries(acts)) lines[name] = await sent(act);
    expect(lines).toMatchInlineSnapshot(`
{
  "add": "evalsha book.apply",
  "add, boost, remove": "evalsha book.apply",
  "addMany": "evalsha book.apply",
  "complete": "evalsha_ro book.quick",
  "complete, 13": "evalsha_ro book.complete",
  "complete, fuzzy": "evalsha_ro book.quick, evalsha_ro book.fuzzy",
  "complete, fuzzy without room": "evalsha_ro book.quick",
  "complete, two words": "evalsha_ro book.complete",
  "get": "evalsha_ro book.get",
  "page": "evalsha_ro book.quick",
  "page, alphabetical": "evalsha_ro book.list",
  "size": "hget meta",
}
`);
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
    expect(lines).toBe('evalsha_ro book.quick, evalsha_ro book.quick');
    expect(found).toEqual(names.map((name) => [name]));
  });

  test('a top set with too few entries needs a second round trip', async () => {
    // Each entry has many members with the prefix, all of one rank, so a top set holds few entries.
    const alike = new AddressBook(redis, 'alike', { prefix });
    const keys = Array.from({ length: 60 }, (_, index) => `jo joan john jon joe jody${index}`);
    await alike.addMany(keys.map((key, index) => ({ key, score: index })));
    let found: readonly { key: string }[] = [];
    const lines = await sent(async () => {
      found = await alike.complete('jo');
    });
    expect(lines).toBe('evalsha_ro book.quick, evalsha_ro book.complete');
    expect(found.map(({ key }) => key)).toEqual(keys.toReversed().slice(0, 10));
  });

  test('a top set with too few members is read once', async () => {
    const few = new AddressBook(redis, 'few', { prefix });
    const keys = Array.from({ length: 5 }, (_, index) => `a b c d e f${index}`);
    await few.addMany(keys.map((key) => ({ key, aliases: ['g h i j k l', 'm n o p q r'] })));
    await few.complete('');
    const [quick = '', complete = ''] = (await commands(() => few.complete(''))).split('\n');
    expect([quick, complete]).toEqual([
      expect.stringContaining('book.quick'),
      expect.stringContaining('book.complete'),
    ]);
    expect(quick.match(/\| zrange /g)).toHaveLength(1);
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
    const line = await commands(async () => {
      found = await world.complete('');
    });
    expect(line.replaceAll('autocomplete:{world}:', '')).toMatchInlineSnapshot(
      `"evalsha_ro book.quick directory cards b:0 t: absent | zrange t: | hmget cards"`,
    );
    expect(found.map(({ score }) => score)).toEqual(best);
    expect(new Set(found.map(({ key }) => key)).size).toBe(10);
  });
});
