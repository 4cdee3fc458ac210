/**
 * ioredis sends a command again when the connection was cut before its reply. Here each command is executed twice, and the
 * caller gets the second reply.
 */
import { expect, test } from '@jest/globals';
import { AddressBook, RecentContacts } from '@mortise/autocomplete';
import { connect, freshPrefix, resending } from '@mortise/test-kit';
import { entriesIn } from '../src/contacts/stored-contacts.js';

const CAPACITY = 3;

interface World {
  readonly book: AddressBook;
  readonly recent: RecentContacts;
  /** By frecency. */
  readonly ranked: RecentContacts;
}

/** A write with its answer, its answer after a resend if that differs, and whether it then counts twice. */
interface Write {
  readonly act: (world: World) => Promise<unknown>;
  readonly answer: unknown;
  readonly resent?: unknown;
  readonly countsTwice?: boolean;
}

const redis = connect();

const WRITES: Readonly<Record<string, Write>> = {
  'add of a new entry': {
    act: ({ book }) =>
      book.add({ key: 'new', display: 'New Name', aliases: ['alias'], payload: 1, score: 3 }),
    answer: true,
    resent: false,
  },
  'add of a known entry': { act: ({ book }) => book.add({ key: 'anna', display: 'Anne' }), answer: false },
  addMany: {
    act: ({ book }) => book.addMany([{ key: 'x' }, { key: 'anna' }, { key: 'y', display: 'Yes No' }]),
    answer: { entries: 3, added: 2 },
    resent: { entries: 3, added: 0 },
  },
  'remove of an entry': { act: ({ book }) => book.remove('anna'), answer: true, resent: false },
  'remove of all entries': {
    act: ({ book }) => Promise.all(['anna', 'bob'].map((key) => book.remove(key))),
    answer: [true, true],
    resent: [false, false],
  },
  'remove of no entry': { act: ({ book }) => book.remove('nobody'), answer: false },
  'boost with an id': { act: ({ book }) => book.boost('anna', 2, { id: 'b1' }), answer: 7 },
  'boost without an id': {
    act: ({ book }) => book.boost('anna', 2),
    answer: 7,
    resent: 9,
    countsTwice: true,
  },
  'boost of no entry': { act: ({ book }) => book.boost('nobody', 1, { id: 'b1' }), answer: null },
  'changes of one tick': {
    act: ({ book }) =>
      Promise.all([book.add({ key: 'x' }), book.boost('x', 2, { id: 'b1' }), book.remove('anna')]),
    answer: [true, 2, true],
    resent: [false, 2, false],
  },
  'touch of a new contact': { act: ({ recent }) => recent.touch('u', 'new'), answer: undefined },
  'touch of a known contact': { act: ({ recent }) => recent.touch('u', 'first'), answer: undefined },
  'touches of one tick': {
    act: ({ recent }) => Promise.all(['x', 'first', 'y'].map((contact) => recent.touch('u', contact))),
    answer: [undefined, undefined, undefined],
  },
  touchMany: { act: ({ recent }) => recent.touchMany('u', ['x', 'first', 'y']), answer: undefined },
  'touchMany by frecency': {
    act: ({ ranked }) => ranked.touchMany('u', ['x', 'first']),
    answer: undefined,
    countsTwice: true,
  },
  'remove of a contact': {
    act: ({ recent }) => recent.remove('u', 'first'),
    answer: true,
    resent: false,
  },
  'touch by frecency': {
    act: ({ ranked }) => ranked.touch('u', 'new'),
    answer: undefined,
    countsTwice: true,
  },
  'remove by frecency': {
    act: ({ ranked }) => ranked.remove('u', 'first'),
    answer: true,
    resent: false,
  },
};

/** A book of two entries, and full lists of three contacts. */
async function stored(): Promise<{
  readonly prefix: string;
  readonly worldOf: (client: typeof redis) => World;
}> {
  const prefix = freshPrefix();
  const worldOf = (client: typeof redis): World => ({
    book: new AddressBook(client, 'guild', { prefix }),
    recent: new RecentContacts(client, { prefix, capacity: CAPACITY }),
    ranked: new RecentContacts(client, { prefix, capacity: 3, halfLifeMs: 60_000 }),
  });
  const { book, recent, ranked } = worldOf(redis);
  await book.addMany([{ key: 'anna', display: 'Anna Smith', score: 5 }, { key: 'bob' }]);
  for (const [contact, times] of Object.entries({ first: 9, second: 4, third: 1 })) {
    await recent.touch('u', contact);
    for (let time = 1; time <= times; time += 1) await ranked.touch('u', contact);
  }
  return { prefix, worldOf };
}

/** Each key with its content, without the ranks by frecency, which are times. */
async function stateOf(prefix: string): Promise<Record<string, unknown>> {
  const state: Record<string, unknown> = {};
  for (const key of (await redis.keys(`${prefix}:*`)).toSorted()) {
    const isRanked = key.includes(':ranked:');
    const reads: Record<string, () => Promise<unknown>> = {
      hash: () => redis.hgetall(key),
      list: async () => entriesIn(await redis.lrangeBuffer(key, '0', '-1'), CAPACITY),
      string: () => redis.get(key),
      zset: () => (isRanked ? redis.zrange(key, '0', '-1') : redis.zrange(key, '0', '-1', 'WITHSCORES')),
    };
    state[key.slice(prefix.length)] = await reads[await redis.type(key)]!();
  }
  return state;
}

test.each(Object.entries(WRITES))(
  '%s is right after a resend',
  async (_, { act, answer, resent = answer, countsTwice = false }) => {
    const [once, twice] = [await stored(), await stored()];
    expect(await act(once.worldOf(redis))).toEqual(answer);
    if (countsTwice) await act(once.worldOf(redis));
    expect(await act(twice.worldOf(resending(redis)))).toEqual(resent);
    expect(await stateOf(twice.prefix)).toEqual(await stateOf(once.prefix));
  },
);
