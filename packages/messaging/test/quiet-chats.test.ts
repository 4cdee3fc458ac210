/** What is remembered of chats in which a member had read everything, and for how long. */
import { describe, expect, test } from '@jest/globals';
import { QuietChats } from '../src/member/quiet-chats.js';

/** As long as a look is relied on at most. */
const MAX_AGE_MS = 60_000;
const DAY_MS = 86_400_000;
/** In a process. */
const MAX_CHATS = 50_000;

function create(retentionMs = DAY_MS): QuietChats {
  return new QuietChats(retentionMs);
}

describe('has', () => {
  test('knows no chat, nor one of another member, before it was added', () => {
    const quiet = create();
    quiet.add('ben', 'a', 0);
    expect([quiet.has('ben', 'a', 0), quiet.has('ben', 'b', 0), quiet.has('anna', 'a', 0)]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test('relies on a look for a minute', () => {
    const quiet = create();
    quiet.add('ben', 'a', 1_000);
    expect(quiet.has('ben', 'a', 1_000 + MAX_AGE_MS - 1)).toBe(true);
    expect(quiet.has('ben', 'a', 1_000 + MAX_AGE_MS)).toBe(false);
  });

  test('relies on it for half as long as messages are kept, where that is less', () => {
    const quiet = create(1_000);
    quiet.add('ben', 'a', 0);
    expect([quiet.has('ben', 'a', 499), quiet.has('ben', 'a', 500)]).toEqual([true, false]);
  });

  test('is false where the log holds what others have yet to read: that it exists tells nothing', () => {
    const quiet = create();
    quiet.add('ben', 'a', 0, false);
    expect([quiet.has('ben', 'a', 0), quiet.wasEmpty('ben', 'a')]).toEqual([false, false]);
  });
});

describe('wasEmpty', () => {
  test('is true only where somebody has asked', () => {
    const quiet = create();
    quiet.add('ben', 'a', 0);
    quiet.add('ben', 'b', 0, true);
    expect([quiet.wasEmpty('ben', 'a'), quiet.wasEmpty('ben', 'b'), quiet.wasEmpty('ben', 'c')]).toEqual([
      false,
      true,
      false,
    ]);
  });

  test('becomes true by addEmpty, which makes the head no younger', () => {
    const quiet = create();
    quiet.add('ben', 'a', 0);
    quiet.addEmpty('ben', 'a');
    expect(quiet.wasEmpty('ben', 'a')).toBe(true);
    expect([quiet.has('ben', 'a', MAX_AGE_MS - 1), quiet.has('ben', 'a', MAX_AGE_MS)]).toEqual([true, false]);
  });

  test('addEmpty adds no chat whose head was not looked at', () => {
    const quiet = create();
    quiet.addEmpty('ben', 'a');
    quiet.add('ben', 'b', 0);
    quiet.addEmpty('ben', 'a');
    expect([quiet.has('ben', 'a', 0), quiet.wasEmpty('ben', 'a')]).toEqual([false, false]);
  });
});

describe('add', () => {
  test('of a chat that was not asked for its log leaves it what it was, until that is too old', () => {
    const quiet = create();
    quiet.add('ben', 'a', 0, false);
    quiet.add('ben', 'a', 1);
    expect(quiet.has('ben', 'a', 1)).toBe(false);
    quiet.add('ben', 'a', MAX_AGE_MS);
    expect(quiet.has('ben', 'a', MAX_AGE_MS)).toBe(true);
  });

  test('of a chat that was asked replaces what was known', () => {
    const quiet = create();
    quiet.add('ben', 'a', 0, false);
    quiet.add('ben', 'a', 1, true);
    expect([quiet.has('ben', 'a', MAX_AGE_MS), quiet.wasEmpty('ben', 'a')]).toEqual([true, true]);
    quiet.add('ben', 'a', 2, false);
    expect([quiet.has('ben', 'a', 2), quiet.wasEmpty('ben', 'a')]).toEqual([false, false]);
  });

  test('of a chat whose log was empty doubts that, and makes its head young', () => {
    const quiet = create();
    quiet.add('ben', 'a', 0, true);
    quiet.add('ben', 'a', 10);
    expect([quiet.wasEmpty('ben', 'a'), quiet.has('ben', 'a', MAX_AGE_MS + 9)]).toEqual([false, true]);
  });
});

test('delete forgets one chat of one member, and what is not there', () => {
  const quiet = create();
  for (const [member, chatId] of [
    ['ben', 'a'],
    ['ben', 'b'],
    ['anna', 'a'],
  ] as const)
    quiet.add(member, chatId, 0, true);
  quiet.delete('ben', 'a');
  quiet.delete('ben', 'a');
  quiet.delete('cleo', 'a');
  expect([quiet.has('ben', 'a', 0), quiet.has('ben', 'b', 0), quiet.has('anna', 'a', 0)]).toEqual([
    false,
    true,
    true,
  ]);
  expect(quiet.wasEmpty('ben', 'a')).toBe(false);
});

test('keep forgets the chats of the member that are not named, and no others', () => {
  const quiet = create();
  for (const chatId of ['a', 'b', 'c']) for (const member of ['ben', 'anna']) quiet.add(member, chatId, 0);
  quiet.keep('ben', ['b', 'x']);
  quiet.keep('cleo', []);
  const known = (member: string): string[] =>
    ['a', 'b', 'c'].filter((chatId) => quiet.has(member, chatId, 0));
  expect([known('ben'), known('anna')]).toEqual([['b'], ['a', 'b', 'c']]);
});

describe('a process that knows too many chats', () => {
  /** Members with a thousand chats each, up to the limit. */
  function fill(): { quiet: QuietChats; members: string[] } {
    const quiet = create();
    const members = Array.from({ length: MAX_CHATS / 1_000 }, (_, index) => `m${index}`);
    for (const member of members) for (let chat = 0; chat < 1_000; chat += 1) quiet.add(member, `${chat}`, 0);
    return { quiet, members };
  }
  const known = (quiet: QuietChats, members: readonly string[]): string[] =>
    members.filter((member) => quiet.has(member, '0', 0));

  test('forgets those first whose members did not pull for the longest time', () => {
    const { quiet, members } = fill();
    expect(known(quiet, members)).toEqual(members);
    const all = Array.from({ length: 1_000 }, (_, chat) => `${chat}`);
    quiet.keep('m0', all);
    quiet.add('new', 'a', 0);
    expect(known(quiet, members)).toEqual(members.filter((member) => member !== 'm1'));
    expect(quiet.has('new', 'a', 0)).toBe(true);
  });

  test('counts what was forgotten, so that there is room again', () => {
    const { quiet, members } = fill();
    for (let chat = 0; chat < 1_000; chat += 1) quiet.delete('m3', `${chat}`);
    quiet.keep('m4', ['0']);
    for (let chat = 0; chat < 1_999; chat += 1) quiet.add('new', `${chat}`, 0);
    expect(known(quiet, members)).toEqual(members.filter((member) => member !== 'm3'));
    quiet.add('new', 'one more', 0);
    expect(known(quiet, members)).not.toContain('m0');
  });

  test('keeps all of a single member, however many', () => {
    const quiet = create();
    for (let chat = 0; chat <= MAX_CHATS; chat += 1) quiet.add('ben', `${chat}`, 0);
    expect([quiet.has('ben', '0', 0), quiet.has('ben', `${MAX_CHATS}`, 0)]).toEqual([true, true]);
    quiet.add('anna', 'a', 0);
    expect([quiet.has('ben', '0', 0), quiet.has('anna', 'a', 0)]).toEqual([false, true]);
  });
});
