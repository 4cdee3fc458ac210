import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  CHILD,
  decodeRecord,
  GROUPED,
  PARENT,
  RecordDraft,
  DEDUPLICATED,
  setPriority,
} from '../../src/task/record.js';
import type { NewRecord } from '../../src/task/record.js';
import { codePoint } from '../fixture/code-points.js';

const MAX_BYTES = 1_000_000;
const plain: NewRecord = { name: 't', payload: 1, attempts: 5, when: 0, extras: undefined };

function nested(depth: number, inner = ''): string {
  return '['.repeat(depth) + inner + ']'.repeat(depth);
}

function encodeRecord(given: NewRecord, maxBytes: number): Buffer {
  return new RecordDraft(given, maxBytes).encode();
}

describe('RecordDraft', () => {
  test('decoding returns the encoded record', () => {
    const record = fc.record({
      name: fc.string({ unit: codePoint, minLength: 1, maxLength: 50 }),
      payload: fc.jsonValue(),
      attempts: fc.integer({ min: 1, max: 65_535 }),
      when: fc.integer({ min: -1e12, max: 1e13 }),
      extras: fc.option(
        fc.record({ headers: fc.dictionary(fc.string(), fc.string({ unit: codePoint }), { maxKeys: 3 }) }),
        { nil: undefined },
      ),
      group: fc.option(fc.string({ unit: codePoint, minLength: 1 }), { nil: undefined }),
      dedupMs: fc.option(fc.integer({ min: 1 }), { nil: undefined }),
      flags: fc.constantFrom(0, CHILD, PARENT, CHILD | PARENT),
    });
    fc.assert(
      fc.property(record, fc.integer({ min: 0, max: 15 }), (given, priority) => {
        const bytes = encodeRecord(given, MAX_BYTES);
        setPriority(bytes, priority);
        const { payload, ...rest } = decodeRecord(bytes);
        expect(rest).toEqual({
          priorityIndex: priority,
          flags:
            given.flags |
            (given.group === undefined ? 0 : GROUPED) |
            (given.dedupMs === undefined ? 0 : DEDUPLICATED),
          group: given.group,
          attempts: given.attempts,
          enqueuedAt: given.when,
          name: given.name,
          extras: given.extras ?? {},
        });
        expect(payload).toBe(JSON.stringify(given.payload));
      }),
    );
  });

  test('is written where it belongs, as long as it says, and nowhere else', () => {
    const group = 'Gruppe ß';
    const extras = { headers: { a: 'é' } };
    const draft = new RecordDraft(
      { ...plain, name: '名前', payload: '💬', group, dedupMs: 5, extras },
      MAX_BYTES,
    );
    const target = Buffer.alloc(draft.length + 20, '#');
    draft.copy(target, 7);
    expect(target.subarray(7, 7 + draft.length)).toEqual(draft.encode());
    expect(target.toString('latin1', 0, 7)).toBe('#######');
    expect(target.toString('latin1', 7 + draft.length)).toBe('#############');
  });

  test('takes 15 bytes beside name and payload', () => {
    expect(encodeRecord({ ...plain, name: 'mail', payload: 'x' }, MAX_BYTES)).toHaveLength(15 + 4 + 3);
  });

  test.each([
    ['undefined', undefined, 'undefined'],
    ['a function', () => 1, 'function'],
    ['a symbol', Symbol('s'), 'symbol'],
    ['a BigInt', { n: 1n }, 'BigInt'],
    [
      'a toJSON that throws',
      {
        toJSON: () => {
          throw new Error('no, thanks\nreally');
        },
      },
      'no, thanks',
    ],
    [
      'a toJSON that throws what cannot be shown',
      {
        toJSON: () => {
          throw Object.create(null);
        },
      },
      'null prototype',
    ],
    ['a toJSON that gives nothing', { toJSON: () => undefined }, 'object'],
  ])('%s is no payload', (_, payload, reason) => {
    expect(() => encodeRecord({ ...plain, payload }, MAX_BYTES)).toThrow(
      expect.objectContaining({
        code: 'ERR_INVALID_PAYLOAD',
        taskName: 't',
        message: expect.stringMatching(new RegExp(`^the payload of task "t" is not JSON: .*${reason}.*$`)),
      }),
    );
  });

  test('neither is a cycle, nor endless nesting', () => {
    const cycle: { self?: object } = {};
    cycle.self = cycle;
    let deep: unknown = 0;
    for (let level = 0; level < 100_000; level += 1) deep = [deep];
    for (const payload of [cycle, deep]) {
      expect(() => encodeRecord({ ...plain, payload }, MAX_BYTES)).toThrow(
        expect.objectContaining({ code: 'ERR_INVALID_PAYLOAD' }),
      );
    }
  });

  test('128 levels pass and 129 do not, and brackets in strings are no levels', () => {
    const encode = (json: string): Buffer =>
      encodeRecord({ ...plain, payload: JSON.parse(json) as unknown }, MAX_BYTES);
    const text = JSON.stringify(`${'[{'.repeat(400)}"\\`);
    expect(decodeRecord(encode(nested(128))).payload).toBe(nested(128));
    expect(decodeRecord(encode(`{${text}:[${text}]}`)).payload).toBe(`{${text}:[${text}]}`);
    expect(decodeRecord(encode(`[${Array(1_000).fill('[[]]').join()}]`)).payload).toHaveLength(5_001);
    for (const json of [nested(129), `[${text},${nested(128, text)}]`, `{"a":${nested(128)}}`]) {
      expect(() => encode(json)).toThrow(expect.objectContaining({ code: 'ERR_INVALID_PAYLOAD' }));
    }
  });

  test('the limit counts bytes, not characters', () => {
    expect(encodeRecord({ ...plain, payload: 'é'.repeat(4) }, 10)).toHaveLength(16 + 10);
    expect(() => encodeRecord({ ...plain, payload: 'é'.repeat(5) }, 10)).toThrow(
      expect.objectContaining({ code: 'ERR_PAYLOAD_TOO_LARGE', bytes: 12, maxBytes: 10, taskName: 't' }),
    );
    const numbers = Array.from({ length: 100_000 }, (_, index) => index);
    expect(() => encodeRecord({ ...plain, payload: numbers }, 262_144)).toThrow(
      expect.objectContaining({ code: 'ERR_PAYLOAD_TOO_LARGE' }),
    );
    expect(JSON.parse(decodeRecord(encodeRecord({ ...plain, payload: numbers }, MAX_BYTES)).payload)).toEqual(
      numbers,
    );
  });
});
