import { expect, test } from '@jest/globals';
import { MentionCompleter, RecentContacts } from '@mortise/autocomplete';
import type { MentionBook, MentionSource, RecentContactsOptions, TextRange } from '@mortise/autocomplete';
import { connect, freshPrefix } from '@mortise/test-kit';
import { Cluster } from 'ioredis';

const redis = connect();

test('the types are what the README says', async () => {
  const recent = new RecentContacts(redis, { prefix: freshPrefix(), capacity: 10, idleMs: 5_000 });
  const touched: void = await recent.touch('anna', 'jack');
  const contacts: string[] = await recent.list('anna');
  const matches: string[] = await recent.complete('anna', 'j', { limit: 1 });
  const wasThere: boolean = await recent.remove('anna', 'jack');
  expect([touched, contacts, matches, wasThere]).toEqual([undefined, ['jack'], ['jack'], true]);
});

test('what the compiler refuses is refused at run time as well', async () => {
  const recent = new RecentContacts(redis, { prefix: freshPrefix() });
  // @ts-expect-error -- a URL is no client
  expect(() => new RecentContacts('redis://127.0.0.1')).toThrow(TypeError);
  // @ts-expect-error -- a capacity is a number
  expect(() => new RecentContacts(redis, { capacity: '10' })).toThrow(TypeError);
  // @ts-expect-error -- a contact is a string
  await expect(recent.touch('anna', 42)).rejects.toThrow(TypeError);
  // @ts-expect-error -- the contact is missing
  await expect(recent.remove('anna')).rejects.toThrow(TypeError);
  // @ts-expect-error -- a limit is a number
  await expect(recent.complete('anna', 'j', { limit: '10' })).rejects.toThrow(TypeError);
});

test('the compiler refuses options that do not exist', () => {
  // @ts-expect-error -- no such option
  const options: RecentContactsOptions = { size: 10 };
  expect(options).toEqual({ size: 10 });
});

test('a Cluster is a client', async () => {
  const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
  expect(new RecentContacts(cluster)).toBeInstanceOf(RecentContacts);
  cluster.disconnect();
});

test('the payload of mentions is that of the books', async () => {
  const book: MentionBook<{ avatar: string }> = {
    complete: async () => [{ key: '1', display: 'Jo', score: 1, payload: { avatar: 'a.png' } }],
  };
  const recent = new RecentContacts(redis, {
    prefix: freshPrefix(),
    displayOf: (contact) => contact.slice(1),
  });
  const completer = new MentionCompleter(recent, [book], { keyOf: (contact) => contact, timeoutMs: 100 });
  const { mentions, failures } = await completer.complete('anna', 'jo', { limit: 1, fuzzy: true });
  const [mention] = mentions;
  const avatar: string | undefined = mention?.payload?.avatar;
  const source: MentionSource | undefined = mention?.source;
  const matches: readonly TextRange[] | undefined = mention?.matches;
  expect([avatar, source, matches, failures]).toEqual(['a.png', 0, [], []]);

  // @ts-expect-error -- books are a list
  expect(() => new MentionCompleter(recent, book)).toThrow(TypeError);
  // @ts-expect-error -- a key is a text
  expect(new MentionCompleter(recent, [book], { keyOf: () => 7 })).toBeInstanceOf(MentionCompleter);
  // @ts-expect-error -- whose contacts?
  await expect(completer.complete('anna')).rejects.toThrow(TypeError);
});
