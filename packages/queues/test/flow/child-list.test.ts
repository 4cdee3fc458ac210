import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { childId, decodeChildren, encodeChildren } from '../../src/flow/child-list.js';

const parent = { queue: 'q', id: 'p' };

test('any children are read as they were stored', () => {
  const child = fc.record({
    queue: fc.constantFrom('q', 'other'),
    given: fc.option(fc.string({ minLength: 1, maxLength: 9 }), { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(child, { maxLength: 50 }), (children) => {
      const all = children.map(({ queue, given }, index) => ({ queue, id: given ?? childId(parent, index) }));
      const list = encodeChildren(
        parent,
        all.map((each, index) => ({ ...each, given: children[index]!.given !== undefined })),
      );
      expect(decodeChildren(parent, JSON.parse(JSON.stringify(list ?? [])))).toEqual(all);
    }),
  );
});

test('children with derived ids take a number, those in another queue one more name', () => {
  const of = (queue: string, count: number) =>
    Array.from({ length: count }, () => ({ queue, id: 'x', given: false }));
  expect(encodeChildren(parent, [])).toBeUndefined();
  expect(encodeChildren(parent, of('q', 1_000))).toEqual([1_000]);
  expect(encodeChildren(parent, [...of('q', 2), ...of('other', 3)])).toEqual([2, ['other', 3]]);
  expect(encodeChildren(parent, [{ queue: 'q', id: 'a', given: true }, ...of('q', 1)])).toEqual(['a', 1]);
});
