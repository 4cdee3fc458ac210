import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Cell } from '../../src/near/near-store.js';
import { NearStore } from '../../src/near/near-store.js';
import { NearTier } from '../../src/near/near-tier.js';
import { CacheKeys } from '../../src/keys.js';

const keys = new CacheKeys('pages', undefined, 0);

function cell(value: string, tags: readonly string[] = []): Cell<string> {
  const common = {
    seen: Buffer.alloc(8),
    freshUntil: Infinity,
    earlyFrom: Infinity,
    loadMs: 0,
    isRead: false,
  };
  return { ...common, value, tags, bytes: value.length };
}

describe('a read that is under way', () => {
  let tier: NearTier<string>;
  const kept = (): string | undefined => tier.store.get('a', 0)?.value;

  beforeEach(() => {
    tier = new NearTier({ entries: 10, bytes: 10_000 });
    tier.open();
  });

  test('is kept when nothing has changed what it was read from', () => {
    const mark = tier.mark([keys.value('a'), keys.tag('x')]);
    tier.onChanged(keys.value('b'));
    tier.onChanged(keys.tag('y'));
    tier.keep(mark, 'a', cell('old', ['x']));
    expect(kept()).toBe('old');
  });

  test.each([
    ['its key', keys.value('a')],
    ['one of its tags', keys.tag('x')],
  ])('is not kept when %s has changed, in whatever order the news and the reply come', (_, redisKey) => {
    const mark = tier.mark([keys.value('a'), keys.tag('x')]);
    tier.onChanged(redisKey);
    tier.keep(mark, 'a', cell('old', ['x']));
    expect(kept()).toBeUndefined();
    tier.unmark(mark);

    const next = tier.mark([keys.value('a'), keys.tag('x')]);
    tier.keep(next, 'a', cell('old', ['x']));
    tier.onChanged(redisKey);
    expect(kept()).toBeUndefined();
  });

  test('is not kept when news may have been missed since, nor while none come', () => {
    const mark = tier.mark([keys.value('a')]);
    tier.close();
    tier.open();
    tier.keep(mark, 'a', cell('old'));
    expect(kept()).toBeUndefined();
    tier.close();
    expect(tier.mark([keys.value('a')])).toBeUndefined();
    tier.keep(undefined, 'a', cell('old'));
    expect(kept()).toBeUndefined();
  });
});

test('a cell that was read stays when room is made, once', () => {
  const store = new NearStore<string>({ entries: 2, bytes: 10_000 });
  store.set('a', cell('a'));
  store.set('b', cell('b'));
  store.get('a', 0);
  store.set('c', cell('c'));
  expect(['a', 'b', 'c'].map((key) => store.get(key, 0)?.value)).toEqual(['a', undefined, 'c']);
  store.clear();
  expect([store.entries, store.bytes]).toEqual([0, 0]);
});

test('a value is counted once, however often it is replaced', () => {
  const store = new NearStore<string>({ entries: 10, bytes: 10_000 });
  for (let round = 0; round < 5; round += 1) store.set('a', cell('value', ['x', 'y']));
  // 200 for the entry, 2 for its key, and 152 for each tag.
  expect([store.entries, store.bytes]).toEqual([1, 511]);
  store.deleteTag('y');
  store.deleteTag('x');
  expect([store.entries, store.bytes]).toEqual([0, 0]);
});
