import { describe, expect, test } from '@jest/globals';
import type { Suggestion } from '@mortise/autocomplete';
import { RecentContacts } from '@mortise/autocomplete';
import { connect, freshPrefix } from '@mortise/test-kit';
import type { MentionSources } from '../../examples/mentions/complete-mentions.js';
import { completeMentions } from '../../examples/mentions/complete-mentions.js';

const redis = connect();
type Book = MentionSources['books'][number];

/** A book with these names, and its queries so far. */
function bookOf(...names: (Partial<Suggestion<unknown>> & { key: string })[]): Book & { asked: unknown[] } {
  const full = names.map((name) => ({
    display: name.key,
    score: 1,
    payload: undefined,
    matches: [],
    isFuzzy: false,
    ...name,
  }));
  const asked: unknown[] = [];
  const complete = async (...question: Parameters<Book['complete']>): Promise<Suggestion<unknown>[]> => {
    asked.push(question);
    return full.slice(0, question[1]?.limit);
  };
  return { complete, asked };
}

const bookThat = (complete: () => Promise<never>): Book => ({ complete });

async function sources(contacts: string[], ...books: Book[]): Promise<MentionSources> {
  const displayOf = (contact: string): string => contact.slice(contact.indexOf('|') + 1);
  const recent = new RecentContacts(redis, { prefix: freshPrefix(), displayOf });
  for (const contact of contacts) await recent.touch('anna', contact);
  return { recent, books, keyOf: (contact) => contact.split('|')[0]! };
}

async function keysOf(from: MentionSources, text: string, options = {}): Promise<[string, unknown][]> {
  const { mentions } = await completeMentions(from, 'anna', text, options);
  return mentions.map(({ key, source }) => [key, source]);
}

describe('mentions', () => {
  test('recent contacts come first, then book after book, each key once, up to the limit', async () => {
    const from = await sources(
      ['1|Jack', '2|Jill', '3|Bob'],
      bookOf({ key: '4' }, { key: '1' }, { key: '5' }),
      bookOf({ key: '5' }, { key: '6' }, { key: '7' }),
    );
    const all = [
      ['2', 'recent'],
      ['1', 'recent'],
      ['4', 0],
      ['5', 0],
      ['6', 1],
    ];
    expect(await keysOf(from, 'j', { limit: 5 })).toEqual(all);
    expect(await keysOf(from, 'j', { limit: 2 })).toEqual(all.slice(0, 2));
  });

  test('a contact that a book knows has its display form, score and payload', async () => {
    const known = {
      key: '1',
      display: 'Jack New',
      score: 7,
      payload: 'avatar',
      matches: [{ start: 0, end: 4 }],
    };
    const from = await sources(['1|Jack Old', '2|José'], bookOf(known), bookOf({ ...known, score: 1 }));
    expect((await completeMentions(from, 'anna', 'J')).mentions).toEqual([
      { key: '2', display: 'José', source: 'recent', matches: [{ start: 0, end: 1 }] },
      { ...known, source: 'recent' },
    ]);
  });

  test('a person with several contacts comes once, and takes no place of another', async () => {
    const from = await sources(['7|Joan', '1|John', '1|Johnny'], bookOf({ key: '9' }));
    expect(await keysOf(from, 'jo', { limit: 2 })).toEqual([
      ['1', 'recent'],
      ['7', 'recent'],
    ]);
  });

  test('matches after an edit come last, whatever their book', async () => {
    const first = bookOf({ key: 'a', isFuzzy: true }, { key: 'b', isFuzzy: true });
    expect(await keysOf(await sources([], first, bookOf({ key: 'c' }, { key: 'a' })), 'x')).toEqual([
      ['c', 1],
      ['a', 1],
      ['b', 0],
    ]);
  });

  test('all books are asked at once, each for as many as the answer may have', async () => {
    const books = [bookOf(), bookOf()];
    const answer = completeMentions(await sources([], ...books), 'anna', 'Jo', { limit: 3, fuzzy: true });
    expect(books.map(({ asked }) => asked)).toEqual(books.map(() => [['Jo', { limit: 3, fuzzy: true }]]));
    expect(await answer).toEqual({ mentions: [], failures: [] });
  });
});

describe('a source that fails', () => {
  const down = bookThat(() => Promise.reject(new Error('down')));
  const silent = bookThat(() => new Promise<never>(() => undefined));

  test('hides no other, also without an answer in time', async () => {
    const from = await sources(['jack'], down, bookOf({ key: 'joe' }), silent);
    const { mentions, failures } = await completeMentions(from, 'anna', 'j', { waitMs: 1_000 });
    expect(mentions.map(({ key }) => key)).toEqual(['jack', 'joe']);
    expect(failures).toEqual([new Error('down'), new Error('no answer within 1000 ms')]);
  });

  test('may be the recent contacts; if all fail, the call does', async () => {
    const closed = connect();
    await closed.quit();
    const recent = new RecentContacts(closed, { prefix: freshPrefix() });
    const from = { ...(await sources([], bookOf({ key: 'joe' }))), recent };
    const { mentions, failures } = await completeMentions(from, 'anna', 'j');
    expect(mentions).toMatchObject([{ key: 'joe', source: 0 }]);
    expect(failures).toMatchObject([{ code: 'ERR_CLIENT_CLOSED' }]);
    await expect(completeMentions({ ...from, books: [down] }, 'anna', 'j')).rejects.toMatchObject({
      code: 'ERR_CLIENT_CLOSED',
    });
  });
});
