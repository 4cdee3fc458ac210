import { expect, test } from '@jest/globals';
import type { Testimony } from '../src/messaging/accountant.js';
import { account } from '../src/messaging/accountant.js';
import type { ActorRecord } from '../src/messaging/records.js';

function accepted(n: number, id: number, at = 0): ActorRecord {
  return { type: 'accepted', at, chat: 'c', n, id, isDuplicate: false };
}

function delivered(n: number, id: number, at = 0): ActorRecord {
  return { type: 'delivered', at, chat: 'c', epoch: 1, id, from: 'poster', n };
}

function poster(...records: ActorRecord[]): Testimony {
  return { member: 'poster', isFollower: false, records };
}

function puller(...records: ActorRecord[]): Testimony {
  return { member: 'puller', isFollower: false, records };
}

function follower(...records: ActorRecord[]): Testimony {
  return { member: 'follower', isFollower: true, records };
}

function rulesOf(...[senders, readers, faults]: Parameters<typeof account>): string[] {
  return account(senders, readers, faults).violations.map(({ rule }) => rule);
}

test('a run without faults has no violations', () => {
  const all = [delivered(1, 1), delivered(2, 2)];
  const found = account([poster(accepted(1, 1), accepted(2, 2))], [puller(...all), follower(...all)]);
  expect(found).toEqual({
    violations: [],
    accepted: 2,
    delivered: 4,
    repeatedPosts: 0,
    pulledAgain: 0,
    forgotten: 0,
  });
});

test('a reader that pulls may get messages again without an ack, and one that follows may not', () => {
  const again = [delivered(1, 1), delivered(2, 2), delivered(1, 1), delivered(2, 2), delivered(3, 3)];
  expect(account([], [puller(...again)])).toMatchObject({ violations: [], pulledAgain: 2 });
  expect(rulesOf([], [follower(...again)])).toEqual(['repeated', 'repeated']);
});

test.each<{ what: string; records: ActorRecord[]; rules: string[] }>([
  { what: 'a message that somebody never got', records: [delivered(1, 1)], rules: ['lost'] },
  {
    what: 'a message that came before the one before it',
    records: [delivered(1, 1), delivered(3, 3), delivered(2, 2)],
    rules: ['skipped', 'skipped'],
  },
  {
    what: 'messages of a sender in another order',
    records: [delivered(2, 1), delivered(1, 2)],
    rules: ['reordered', 'contradiction', 'contradiction'],
  },
  {
    what: 'a post under two ids',
    records: [delivered(1, 1), delivered(2, 2), delivered(2, 3)],
    rules: ['doubled', 'reordered'],
  },
  {
    what: 'a gap',
    records: [{ type: 'noted', at: 0, what: 'gap 1 to 1 in c' }, delivered(1, 1), delivered(2, 2)],
    rules: ['noted'],
  },
])('$what is found', ({ records, rules }) => {
  expect(rulesOf([poster(accepted(1, 1), accepted(2, 2))], [puller(...records)])).toEqual(rules);
});

test('acked messages never come again, unless the ack fell into the moment that may be forgotten', () => {
  const acked = (id: number, at = 0): ActorRecord => ({ type: 'acked', at, chat: 'c', id });
  const first = [delivered(1, 1), delivered(2, 2)];
  expect(rulesOf([], [puller(...first, acked(1), delivered(2, 2))])).toEqual([]);
  expect(rulesOf([], [puller(...first, acked(2), acked(1), delivered(2, 2))])).toEqual(['returned']);
  const faults = [{ from: 10, to: 20, mayForget: true }];
  expect(rulesOf([], [puller(...first, acked(2, 15), delivered(2, 2, 30))], faults)).toEqual([]);
});

test('two members who got different messages under one id are found', () => {
  expect(rulesOf([], [puller(delivered(1, 1)), follower(delivered(2, 1))])).toEqual(['contradiction']);
});

test('only messages that were accepted while a master was replaced may be forgotten', () => {
  const faults = [{ from: 10, to: 20, mayForget: true }];
  const senders = [poster(accepted(1, 1, 5), accepted(2, 2, 15), accepted(3, 2, 25))];
  const got = [delivered(1, 1, 5), delivered(3, 2, 25)];
  expect(account(senders, [puller(...got)], faults)).toMatchObject({ violations: [], forgotten: 1 });
  expect(rulesOf(senders, [puller(delivered(1, 1, 5))], faults)).toEqual(['lost']);
});

test('a reader that meets a loss late may get messages of all senders again, and later none', () => {
  const faults = [{ from: 10, to: 20, mayForget: true }];
  const other = (n: number, id: number, at: number): ActorRecord => {
    return { type: 'delivered', at, chat: 'c', epoch: 1, id, from: 'other', n };
  };
  const reset = (at: number): ActorRecord => ({ type: 'noted', at, what: 'reset in c' });
  const before = [delivered(1, 1, 5), other(1, 2, 8), delivered(2, 3, 12), other(2, 4, 13)];
  const late = [...before, reset(30), other(1, 2, 30), delivered(2, 3, 31), other(3, 4, 32)];
  expect(rulesOf([], [follower(...late)], faults)).toEqual([]);
  expect(rulesOf([], [follower(...late)])).toEqual([
    'noted',
    'repeated',
    'repeated',
    'contradiction',
    'repeated',
  ]);
  expect(rulesOf([], [follower(...late, reset(40), delivered(2, 3, 41))], faults)).toEqual([
    'noted',
    'repeated',
  ]);
});
