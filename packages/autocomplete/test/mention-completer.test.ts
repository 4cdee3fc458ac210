import { describe, expect, test } from '@jest/globals';
import { MentionCompleter, NoSourceAnsweredError, RecentContacts } from '@mortise/autocomplete';
import type { BookMention, MentionBook, MentionOptions } from '@mortise/autocomplete';
import { connect, freshPrefix } from '@mortise/test-kit';

const redis = connect();
const NEVER = new Promise<never>(() => undefined);

/** A book that answers what it is given, up to the limit. */
function book(...entries: (Partial<BookMention<string>> & { key: string })[]): MentionBook<string> {
  const full = entries.map((entry) => ({ display: entry.key, score: 1, matches: [], ...entry }));
  return { complete: async (_text, { limit }: MentionOptions) => full.slice(0, limit) };
}

async function contacts(...touched: string[]): Promise<RecentContacts> {
  const recent = new RecentContacts(redis, {
    prefix: freshPrefix(),
    displayOf: (contact) => contact.slice(contact.indexOf('|') + 1),
  });
  for (const contact of touched) await recent.touch('anna', contact);
  return recent;
}

const keyOf = (contact: string): string => contact.split('|')[0]!;

describe('complete', () => {
  test('tells of recent contacts first, then of each book, each key once, up to the limit', async () => {
    const recent = await contacts('1|Jack', '2|Jill', '3|Bob');
    const mentions = new MentionCompleter(
      recent,
      [book({ key: '4' }, { key: '1' }, { key: '5' }), book({ key: '5' }, { key: '6' }, { key: '7' })],
      { keyOf },
    );
    const { mentions: found, failures } = await mentions.complete('anna', 'j', { limit: 5 });
    expect(failures).toEqual([]);
    expect(found.map(({ key, source }) => [key, source])).toEqual([
      ['2', 'recent'],
      ['1', 'recent'],
      ['4', 0],
      ['5', 0],
      ['6', 1],
    ]);
    const two = await mentions.complete('anna', 'j', { limit: 2 });
    expect(two.mentions.map(({ key }) => key)).toEqual(['2', '1']);
  });

  test('a contact that a book knows has its display form, score and payload', async () => {
    const recent = await contacts('1|Jack Old', '2|José');
    const known = {
      key: '1',
      display: 'Jack New',
      score: 7,
      payload: 'avatar',
      matches: [{ start: 0, end: 4 }],
    };
    const completer = new MentionCompleter(recent, [book(known), book({ ...known, score: 1 })], { keyOf });
    const { mentions } = await completer.complete('anna', 'J');
    expect(mentions).toEqual([
      {
        key: '2',
        display: 'José',
        source: 'recent',
        score: undefined,
        payload: undefined,
        matches: [{ start: 0, end: 1 }],
      },
      { ...known, source: 'recent' },
    ]);
  });

  test('marks what was typed in a recent contact, by whole characters', async () => {
    const recent = await contacts('Jose\u0301 Łuk', 'josef');
    const { mentions } = await new MentionCompleter(recent, []).complete('anna', 'jose');
    expect(mentions.map(({ key, matches }) => [key, matches])).toEqual([
      ['josef', [{ start: 0, end: 4 }]],
      ['Jose\u0301 Łuk', [{ start: 0, end: 5 }]],
    ]);
    const all = await new MentionCompleter(recent, []).complete('anna', ' ');
    expect(all.mentions.map(({ matches }) => matches)).toEqual([[], []]);
  });

  test('tells of a person once whom the user has touched under two names', async () => {
    const recent = await contacts('1|Jack', '2|Jill', '1|Jackie');
    const { mentions } = await new MentionCompleter(recent, [], { keyOf }).complete('anna', 'j');
    expect(mentions.map(({ key, display }) => [key, display])).toEqual([
      ['1', 'Jackie'],
      ['2', 'Jill'],
    ]);
  });

  test('names of one person take no place of another', async () => {
    const recent = await contacts('7|Joan', '1|John', '1|Johnny');
    const completer = new MentionCompleter(recent, [book({ key: '9' })], { keyOf });
    const { mentions } = await completer.complete('anna', 'jo', { limit: 2 });
    expect(mentions.map(({ key }) => key)).toEqual(['1', '7']);
  });

  test('what was found by a typing error comes behind all that was not, whatever the book', async () => {
    const first = book({ key: 'a', isFuzzy: true }, { key: 'b', isFuzzy: true });
    const second = book({ key: 'c' }, { key: 'a' });
    const { mentions } = await new MentionCompleter(await contacts(), [first, second]).complete('anna', 'x');
    expect(mentions.map(({ key, source }) => [key, source])).toEqual([
      ['c', 1],
      ['a', 1],
      ['b', 0],
    ]);
  });

  test('asks all sources at once, each for as many as the answer may have', async () => {
    const asked: unknown[] = [];
    const spy: MentionBook = {
      complete: async (text, options) => {
        asked.push([text, options]);
        return [];
      },
    };
    const answer = new MentionCompleter(await contacts(), [spy, spy]).complete('anna', 'Jo', {
      limit: 3,
      fuzzy: false,
    });
    expect(asked).toEqual(Array.from({ length: 2 }, () => ['Jo', { limit: 3, fuzzy: false }]));
    expect(await answer).toEqual({ mentions: [], failures: [] });
  });
});

describe('a source that fails', () => {
  const broken = (error: unknown): MentionBook<string> => ({
    complete: async () => {
      throw error;
    },
  });

  test('is told, and does not hide what the others found', async () => {
    const error = new Error('down');
    const throwing = {
      complete: () => {
        throw new TypeError('broken');
      },
    };
    const completer = new MentionCompleter<string>(await contacts('jack'), [
      broken(error),
      book({ key: 'joe' }),
      broken('text'),
      throwing,
    ]);
    const { mentions, failures } = await completer.complete('anna', 'j');
    expect(mentions.map(({ key }) => key)).toEqual(['jack', 'joe']);
    expect(failures).toEqual([
      { source: 0, error },
      { source: 2, error: new Error('text') },
      { source: 3, error: new TypeError('broken') },
    ]);
  });

  test('may be that of the recent contacts', async () => {
    const closed = connect();
    await closed.quit();
    const recent = new RecentContacts(closed, { prefix: freshPrefix() });
    const { mentions, failures } = await new MentionCompleter(recent, [book({ key: 'joe' })]).complete(
      'anna',
      'j',
    );
    expect(mentions).toMatchObject([{ key: 'joe', source: 0 }]);
    expect(failures).toMatchObject([{ source: 'recent', error: { message: 'Connection is closed.' } }]);
  });

  test('is no longer waited for when the time is up', async () => {
    const slow = { complete: () => NEVER };
    const completer = new MentionCompleter<string>(await contacts('jack'), [slow, book({ key: 'joe' })], {
      timeoutMs: 50,
    });
    const { mentions, failures } = await completer.complete('anna', 'j');
    expect(mentions.map(({ key }) => key)).toEqual(['jack', 'joe']);
    expect(failures).toMatchObject([
      {
        source: 0,
        error: {
          code: 'ERR_SOURCE_TIMEOUT',
          source: 0,
          timeoutMs: 50,
          message: 'book 0 took more than 50 ms',
        },
      },
    ]);
  });

  test('and all the others with it reject the call', async () => {
    const closed = connect();
    await closed.quit();
    const recent = new RecentContacts(closed, { prefix: freshPrefix() });
    const error = new Error('down');
    const answer = new MentionCompleter(recent, [broken(error)]).complete('anna', 'j');
    await expect(answer).rejects.toThrow(NoSourceAnsweredError);
    await expect(answer).rejects.toMatchObject({
      code: 'ERR_NO_SOURCE_ANSWERED',
      failures: [{ source: 'recent' }, { source: 0, error }],
      message: 'none of 2 sources has answered: Connection is closed.',
    });
  });
});

describe('misuse', () => {
  test.each([
    ['', 'j', {}, RangeError],
    [7, 'j', {}, TypeError],
    ['anna', 7, {}, TypeError],
    ['anna', undefined, {}, TypeError],
    ['anna', 'j', { limit: 0 }, RangeError],
    ['anna', 'j', { limit: 1e9 }, RangeError],
    ['anna', 'j', { limit: '1' }, TypeError],
    ['anna', 'j', { fuzzy: 'yes' }, TypeError],
  ])('user %j, text %j, options %j is refused and nobody is asked', async (user, text, options, error) => {
    const spy: MentionBook = { complete: () => Promise.reject(new Error('asked')) };
    const completer = new MentionCompleter(await contacts(), [spy]);
    await expect(
      completer.complete(user as string, text as string, options as MentionOptions),
    ).rejects.toThrow(error);
  });

  test.each([
    [undefined, [], {}, TypeError],
    [{}, [], {}, TypeError],
    [{ complete: () => NEVER }, undefined, {}, TypeError],
    [{ complete: () => NEVER }, [{}], {}, TypeError],
    [{ complete: () => NEVER }, [], { keyOf: 'id' }, TypeError],
    [{ complete: () => NEVER }, [], { timeoutMs: 9 }, RangeError],
    [{ complete: () => NEVER }, [], { timeoutMs: Number.NaN }, RangeError],
  ])('construction %#: is refused', (recent, books, options, error) => {
    expect(() => new MentionCompleter(recent as never, books as never, options as never)).toThrow(error);
  });
});
