import { expect, test } from '@jest/globals';
import { RecentContacts } from '@mortise/autocomplete';
import type { RecentContactsOptions } from '@mortise/autocomplete';
import { connect, freshPrefix } from '@mortise/test-kit';
import { Cluster } from 'ioredis';

const redis = connect();

test('the types are those of the README', async () => {
  const recent = new RecentContacts(redis, { prefix: freshPrefix(), capacity: 10, keepMs: 5_000 });
  const touched: void = await recent.touch('anna', 'jack');
  const contacts: string[] = await recent.list('anna');
  const matches: string[] = await recent.complete('anna', 'j', { limit: 1 });
  const wasThere: boolean = await recent.remove('anna', 'jack');
  expect([touched, contacts, matches, wasThere]).toEqual([undefined, ['jack'], ['jack'], true]);
});

test('values of wrong types are refused at run time as well', async () => {
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
