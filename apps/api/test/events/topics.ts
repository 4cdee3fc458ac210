/** Every topic, over server-sent events and over a WebSocket: its events, the rights that it needs, and how it continues. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@mortise/test-kit';

import { SCOPES } from '../../src/callers/scopes.js';
import { TOPIC_KINDS } from '../../src/events/topics.js';
import type { Answer } from '../fixture/api.js';
import type { Json } from '../fixture/streams.js';
import { EventReader } from '../fixture/streams.js';
import type { Client, Transport } from '../fixture/topic-clients.js';
import { transportsOf } from '../fixture/topic-clients.js';
import { acme, ADMIN, api, ask, bearer, keyOf, TOPICS } from './topic-rows.js';

/** As `toMatchObject`. */
const isLike = (event: Json, expected: Json): boolean =>
  typeof expected === 'object'
    ? Object.entries(expected).every(([name, value]) => isLike(event?.[name], value))
    : event === expected;

let counted = 0;
const next = (): number => (counted += 1);

const STORED = Object.entries(TOPICS).filter(([, { isSampled }]) => !isSampled);
const SAMPLED = Object.entries(TOPICS).filter(([, { isSampled }]) => isSampled);
const TRANSPORTS = transportsOf(api);

const arrived = async (client: Client, count: number): Promise<Json[]> =>
  until(`${count} events`, async () => (client.events.length >= count ? client.events : undefined));

/** The client has such an event, whatever else it has. */
const seen = (client: Client, expected: object): Promise<unknown> =>
  until(JSON.stringify(expected), async () => client.events.some((event) => isLike(event, expected)));

/** A new one, for both tenants. */
async function open(kind: string): Promise<{ name: string; topic: string }> {
  const name = `${kind}-${next()}`;
  for (const key of [ADMIN, acme]) await TOPICS[kind]!.prepare?.(key, name);
  return { name, topic: TOPICS[kind]!.topic(name) };
}

test('each kind has its row', () => {
  expect(Object.keys(TOPICS)).toEqual(TOPIC_KINDS);
});

describe.each(STORED)('a topic of %s', (kind, row) => {
  const { scope, act, stored = (happened) => happened, lose } = row;

  describe.each(TRANSPORTS)('over %s', (_, follow) => {
    test('has what happens, and continues after any event', async () => {
      const { name, topic } = await open(kind);
      const key = await keyOf(name, { scopes: [scope] });
      const client = await follow(key, topic);
      const { token: first } = client;
      const expected: object[] = [];
      for (let n = 0; n < 3; n += 1) {
        expected.push(await act(ADMIN, name, next()));
        await arrived(client, n + 1);
      }
      expect(client.events).toMatchObject(expected.map((event) => ({ topic, ...event })));
      const { token } = client;
      client.close();
      const missed = [await act(ADMIN, name, next())];
      for (const [after, before] of [
        [first, expected],
        [token, []],
      ] as const) {
        const again = await follow(key, topic, after);
        const its = stored([...before, ...missed]);
        expect(await arrived(again, its.length)).toMatchObject(its);
        missed.push(await act(ADMIN, name, next()));
        expect(await arrived(again, its.length + 1)).toMatchObject([...its, missed.at(-1)]);
        again.close();
      }
    });

    test('goes on with a reset where the position of a token is gone', async () => {
      const { name, topic } = await open(kind);
      const before = await follow(ADMIN, topic);
      await act(ADMIN, name, next());
      await arrived(before, 1);
      before.close();
      await lose?.(name);
      const client = await follow(ADMIN, topic, before.token);
      const types = (): string[] => client.events.map(({ type }) => type);
      await until('a reset', async () => types().includes('reset'));
      const last = await act(ADMIN, name, next());
      await seen(client, last);
      expect(types()).not.toContain('gap');
      client.close();
    });
  });
});

describe.each(SAMPLED)('a topic of %s', (kind, { scope, act }) => {
  test.each(TRANSPORTS)(
    'over %s has the value of now and each change, also after a token',
    async (_, follow) => {
      const { name, topic } = await open(kind);
      const key = await keyOf(`${name}-s`, { scopes: [scope] });
      const client = await follow(key, topic);
      expect(await arrived(client, 1)).toMatchObject([{ topic, type: kind }]);
      await seen(client, { topic, ...(await act(ADMIN, name, next())) });
      const { token } = client;
      client.close();
      const missed = await act(ADMIN, name, next());
      for (const after of [token, undefined]) {
        const again = await follow(key, topic, after);
        await seen(again, missed);
        expect(again.events.map(({ type }) => type)).not.toContain('reset');
        again.close();
      }
    },
  );
});

describe('a stream ends when its credential', () => {
  const FATES: Record<string, (id: string, scope: string) => Promise<Answer>> = {
    'loses the scope': (id, scope) =>
      ask(ADMIN, `PUT admin/keys/${id}`, { scopes: SCOPES.filter((each) => each !== scope) }),
    'is revoked': (id) => ask(ADMIN, `DELETE admin/keys/${id}`),
  };
  const CASES = Object.keys(TOPICS).flatMap((kind) =>
    TRANSPORTS.flatMap(([transport, follow]) =>
      Object.keys(FATES).map((fate) => ({ fate, kind, transport, follow })),
    ),
  );
  const streams = new Map<object, Awaited<ReturnType<Transport>>>();

  // All at once: the API looks at credentials every two seconds.
  beforeAll(async () => {
    for (const each of CASES) {
      const { scope } = TOPICS[each.kind]!;
      const { name, topic } = await open(each.kind);
      streams.set(each, await each.follow(await keyOf(name, { scopes: [scope] }), topic));
      await FATES[each.fate]!(name, scope);
    }
  });

  test.each(CASES)('$fate: $kind over $transport', async (its) => {
    await until('it to end', () => streams.get(its)!.isOver);
    expect(streams.get(its)!.isOver).toBe(true);
  });
});

describe.each(Object.entries(TOPICS))('a topic of %s', (kind, row) => {
  const { scope, prepare, act } = row;

  describe.each(TRANSPORTS)('over %s', (_, follow) => {
    test('needs a credential, and its scope', async () => {
      const { name, topic } = await open(kind);
      await expect(follow('mk_none_0123456789012345678901', topic)).rejects.toThrow('401 unauthenticated');
      const others = await keyOf(name, { scopes: SCOPES.filter((each) => each !== scope) });
      await expect(follow(others, topic)).rejects.toThrow('403 scope-missing');
    });

    test('is of the tenant of the credential alone', async () => {
      const { name, topic } = await open(kind);
      const mine = await follow(ADMIN, topic);
      const its = await follow(acme, topic, mine.token).catch((error: Error) => error.message);
      expect(typeof its === 'string' ? its : 'open').toBe(row.isOfDeployment ? '404 unknown-topic' : 'open');
      const itsOnly = await act(acme, name, next());
      // Values like the remaining permits of a limit are equal after equally many changes.
      const mineAll = [await act(ADMIN, name, next()), await act(ADMIN, name, next())];
      mineAll.push(await act(ADMIN, name, next()));
      const itsLast = await act(acme, name, next());
      const mineLast = mineAll.at(-1)!;
      await seen(mine, mineLast);
      const isOthers = (event: Json): boolean => !mineAll.some((each) => isLike(event, each));
      expect(row.isSampled ? [] : mine.events.filter(isOthers)).toEqual([]);
      mine.close();
      if (typeof its === 'string') return;
      await seen(its, itsLast);
      const isItsOwn = (event: Json): boolean => [itsOnly, itsLast].some((each) => isLike(event, each));
      const isForeign = (event: Json): boolean => isLike(event, mineLast) && !isItsOwn(event);
      if (!['mailbox', 'overview'].includes(kind) && its.events.some(isForeign))
        throw new Error('an event of another tenant');
      its.close();
    });
  });

  test.each(['bill', 'bull'])('is for %s where the credential acts for bill', async (name) => {
    await prepare?.(ADMIN, name);
    const key = await keyOf(`${kind}-of-${name}`, { scopes: [scope], subject: 'bill' });
    const path = `/v1/events?topics=${row.topic(name)}`;
    const reader = await EventReader.open(api.url, path, bearer(key));
    const isRefused = ['member', 'mailbox'].includes(kind) && name === 'bull';
    expect(reader.response.statusCode).toBe(isRefused ? 403 : 200);
    reader.close();
  });
});
