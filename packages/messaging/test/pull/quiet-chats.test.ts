/** The memory of chats without unread messages, and its age. */
import { describe, expect, test } from '@jest/globals';
import { QuietChats } from '../../src/pull/quiet-chats.js';

/** How long a read stays valid. */
const MAX_AGE_MS = 60_000;
const DAY_MS = 86_400_000;
/** In a process. */
const MAX_CHATS = 50_000;

function create(keepMs = DAY_MS): QuietChats {
  return new QuietChats(keepMs);
}

function has(quiet: QuietChats, member: string, chatId: string, now: number): boolean {
  return quiet.of(member, now).includes(chatId);
}

describe('of', () => {
  test('knows no chat, nor one of another member, before it was added', () => {
    const quiet = create();
    quiet.add('ben', 'a', 0, 0);
    expect([has(quiet, 'ben', 'a', 0), has(quiet, 'ben', 'b', 0), has(quiet, 'anna', 'a', 0)]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test('relies on a look for a minute', () => {
    const quiet = create();
    quiet.add('ben', 'a', 1_000, 0);
    expect(has(quiet, 'ben', 'a', 1_000 + MAX_AGE_MS - 1)).toBe(true);
    expect(has(quiet, 'ben', 'a', 1_000 + MAX_AGE_MS)).toBe(false);
  });

  test('relies on it for half as long as messages are kept, where that is less', () => {
    const quiet = create(1_000);
    quiet.add('ben', 'a', 0, 0);
    expect([has(quiet, 'ben', 'a', 499), has(quiet, 'ben', 'a', 500)]).toEqual([true, false]);
  });

  test('has no chat with a log that others have yet to read: its existence tells nothing', () => {
    const quiet = create();
    quiet.add('ben', 'a', 0, Infinity);
    quiet.add('ben', 'b', 0, 0);
    expect(quiet.of('ben', 0)).toEqual(['b']);
  });

  test('is empty for a member who has not pulled', () => {
    expect(create().of('ben', 0)).toEqual([]);
  });
});

describe('add', () => {
  test('changes nothing while others have yet to read the log, until that is too old', () => {
    const quiet = create();
    quiet.add('ben', 'a', 0, Infinity);
    quiet.add('ben', 'a', 1, 0);
    expect(has(quiet, 'ben', 'a', 1)).toBe(false);
    quiet.add('ben', 'a', MAX_AGE_MS, 0);
    expect(has(quiet, 'ben', 'a', MAX_AGE_MS)).toBe(true);
  });

  test('replaces what is known after a delete', () => {
    const quiet = create();
    quiet.add('ben', 'a', 0, Infinity);
    quiet.delete('ben', 'a');
    quiet.add('ben', 'a', 1, 0);
    expect(has(quiet, 'ben', 'a', MAX_AGE_MS)).toBe(true);
    quiet.delete('ben', 'a');
    quiet.add('ben', 'a', 2, Infinity);
    expect(has(quiet, 'ben', 'a', 2)).toBe(false);
  });

  test('renews the age of an empty one', () => {
    const quiet = create();
    quiet.add('ben', 'a', 0, 0);
    quiet.add('ben', 'a', 10, 0);
    expect(has(quiet, 'ben', 'a', MAX_AGE_MS + 9)).toBe(true);
  });
});

describe('add of unread messages', () => {
  test('makes a chat quiet when the member has acked its newest message, and not before', () => {
    const quiet = create();
    quiet.add('ben', 'a', 0, 7);
    quiet.add('anna', 'a', 0, 7);
    expect(quiet.of('ben', 0)).toEqual([]);
    quiet.acked('a', 'ben', 6);
    expect(quiet.of('ben', 0)).toEqual([]);
    quiet.acked('a', 'ben', 7);
    expect([quiet.of('ben', 0), quiet.of('anna', 0)]).toEqual([['a'], []]);
  });

  test('counts the age of what was read, not that of the ack', () => {
    const quiet = create();
    quiet.add('ben', 'a', 1_000, 7);
    quiet.acked('a', 'ben', 7);
    expect(has(quiet, 'ben', 'a', 1_000 + MAX_AGE_MS - 1)).toBe(true);
    expect(has(quiet, 'ben', 'a', 1_000 + MAX_AGE_MS)).toBe(false);
  });

  test('keeps the knowledge that others have yet to read the log, until it is too old', () => {
    const quiet = create();
    quiet.add('ben', 'a', 0, Infinity);
    quiet.add('ben', 'a', 1, 7);
    quiet.acked('a', 'ben', 7);
    expect(has(quiet, 'ben', 'a', 1)).toBe(false);
    quiet.add('ben', 'a', MAX_AGE_MS, 8);
    quiet.acked('a', 'ben', 8);
    expect(has(quiet, 'ben', 'a', MAX_AGE_MS)).toBe(true);
  });

  test('takes back that a chat was quiet; an ack of an unknown chat changes nothing', () => {
    const quiet = create();
    quiet.add('ben', 'a', 0, 0);
    quiet.add('ben', 'a', 1, 7);
    quiet.acked('b', 'ben', 7);
    quiet.acked('a', 'cleo', 7);
    expect(quiet.of('ben', 1)).toEqual([]);
  });
});

test('delete forgets one chat of one member, and ignores unknown ones', () => {
  const quiet = create();
  for (const [member, chatId] of [
    ['ben', 'a'],
    ['ben', 'b'],
    ['anna', 'a'],
  ] as const)
    quiet.add(member, chatId, 0, 0);
  quiet.delete('ben', 'a');
  quiet.delete('ben', 'a');
  quiet.delete('cleo', 'a');
  expect([has(quiet, 'ben', 'a', 0), has(quiet, 'ben', 'b', 0), has(quiet, 'anna', 'a', 0)]).toEqual([
    false,
    true,
    true,
  ]);
});

test('keep forgets the chats of the member that are not named, and no others', () => {
  const quiet = create();
  for (const chatId of ['a', 'b', 'c']) for (const member of ['ben', 'anna']) quiet.add(member, chatId, 0, 0);
  quiet.keep('ben', ['b', 'x']);
  quiet.keep('cleo', []);
  const known = (member: string): string[] =>
    ['a', 'b', 'c'].filter((chatId) => has(quiet, member, chatId, 0));
  expect([known('ben'), known('anna')]).toEqual([['b'], ['a', 'b', 'c']]);
});

describe('a process that knows too many chats', () => {
  /** Members with a thousand chats each, up to the limit. */
  function fill(): { quiet: QuietChats; members: string[] } {
    const quiet = create();
    const members = Array.from({ length: MAX_CHATS / 1_000 }, (_, index) => `m${index}`);
    for (const member of members)
      for (let chat = 0; chat < 1_000; chat += 1) quiet.add(member, `${chat}`, 0, 0);
    return { quiet, members };
  }
  const known = (quiet: QuietChats, members: readonly string[]): string[] =>
    members.filter((member) => has(quiet, member, '0', 0));

  test('first forgets the members who have not pulled for longest', () => {
    const { quiet, members } = fill();
    expect(known(quiet, members)).toEqual(members);
    const all = Array.from({ length: 1_000 }, (_, chat) => `${chat}`);
    quiet.keep('m0', all);
    quiet.add('new', 'a', 0, 0);
    expect(known(quiet, members)).toEqual(members.filter((member) => member !== 'm1'));
    expect(has(quiet, 'new', 'a', 0)).toBe(true);
  });

  test('counts forgotten chats, so that there is room again', () => {
    const { quiet, members } = fill();
    for (let chat = 0; chat < 1_000; chat += 1) quiet.delete('m3', `${chat}`);
    quiet.keep('m4', ['0']);
    for (let chat = 0; chat < 1_999; chat += 1) quiet.add('new', `${chat}`, 0, 0);
    expect(known(quiet, members)).toEqual(members.filter((member) => member !== 'm3'));
    quiet.add('new', 'one more', 0, 0);
    expect(known(quiet, members)).not.toContain('m0');
  });

  test('keeps any number of chats of a single member', () => {
    const quiet = create();
    for (let chat = 0; chat <= MAX_CHATS; chat += 1) quiet.add('ben', `${chat}`, 0, 0);
    expect([has(quiet, 'ben', '0', 0), has(quiet, 'ben', `${MAX_CHATS}`, 0)]).toEqual([true, true]);
    quiet.add('anna', 'a', 0, 0);
    expect([has(quiet, 'ben', '0', 0), has(quiet, 'anna', 'a', 0)]).toEqual([false, true]);
  });
});
