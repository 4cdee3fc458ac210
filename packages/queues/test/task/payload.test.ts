import { describe, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { connect, freshPrefix } from '@mortise/test-kit';
import { decodeRecord, RecordDraft } from '../../src/task/record.js';

const redis = connect();
const plain = { name: 't', attempts: 5, when: 0, extras: undefined };

function encode(payload: unknown): string {
  return decodeRecord(new RecordDraft({ ...plain, payload }, 1_000_000).encode()).payload;
}

class Empty {}

class Sale {
  price = 5;
  readonly #secret = 1;

  get secret(): number {
    return this.#secret;
  }
}

class Money {
  constructor(readonly cents: number) {}

  toJSON(): unknown {
    return { cents: this.cents };
  }
}

// oxlint-disable-next-line no-sparse-arrays -- what is looked at
const sparse = [1, , 3];

const REFUSED: [string, unknown, string][] = [
  ['NaN', Number.NaN, 'NaN'],
  ['an infinity', -Infinity, '-Infinity'],
  ['NaN in a box', new Number(Number.NaN), 'NaN'],
  ['a Map', new Map([[1, 2]]), 'instance of Map'],
  ['a Map with a property', Object.assign(new Map(), { a: 1 }), 'instance of Map'],
  ['a Set', new Set([1]), 'instance of Set'],
  ['a WeakMap', new WeakMap(), 'instance of WeakMap'],
  ['a Promise', Promise.resolve(1), 'instance of Promise'],
  ['an Error', new TypeError('no'), 'instance of TypeError'],
  ['an Error with a code', Object.assign(new Error('no'), { code: 'E' }), 'instance of Error'],
  ['a RegExp', /a/, 'instance of RegExp'],
  ['bytes', new Uint8Array([1, 2]), 'instance of Uint8Array'],
  ['a class without fields', new Empty(), 'instance of Empty'],
  ['URLSearchParams', new URLSearchParams('a=1'), 'instance of URLSearchParams'],
  ['a Date that is none', new Date(Number.NaN), 'invalid Date'],
  ['a function', () => 1, 'function'],
  ['a symbol', Symbol('s'), 'symbol'],
];

describe('is refused, as it is and deep inside', () => {
  test.each(REFUSED)('%s', (_, value, reason) => {
    const refusal = expect.objectContaining({
      code: 'ERR_INVALID_PAYLOAD',
      taskName: 't',
      message: expect.stringContaining(reason),
    });
    for (const payload of [value, { a: 1, b: value }, [1, value], { a: [{ b: { c: value } }] }]) {
      expect(() => encode(payload)).toThrow(refusal);
    }
  });

  test.each<[string, unknown, string]>([
    ['undefined in an array', [1, undefined], 'undefined in an array'],
    ['a hole in an array', sparse, 'undefined in an array'],
    ['NaN in what toJSON gives', new Money(Number.NaN), 'NaN'],
    ['NaN in an instance', Object.assign(new Sale(), { price: Number.NaN }), 'NaN'],
    ['a Date that toJSON gives, and is not asked again', { toJSON: () => new Date() }, 'instance of Date'],
  ])('%s', (_, payload, reason) => {
    expect(() => encode({ rows: [payload] })).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_PAYLOAD', message: expect.stringContaining(reason) }),
    );
  });

  test('the value of toJSON may be as deep as any other', () => {
    const nested = (levels: number): unknown => (levels === 0 ? { toJSON: () => [] } : [nested(levels - 1)]);
    expect(encode(nested(127))).toBe('['.repeat(128) + ']'.repeat(128));
    expect(() => encode(nested(128))).toThrow('is nested deeper than 128');
  });
});

describe('is stored', () => {
  test.each<[string, unknown, string]>([
    ['an optional field that is undefined is left out', { a: 1, b: undefined }, '{"a":1}'],
    ['a Date', { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    ['a URL', [new URL('http://a/')], '["http://a/"]'],
    ['a Buffer', Buffer.from('a'), '{"type":"Buffer","data":[97]}'],
    ['an instance with fields', new Sale(), '{"price":5}'],
    ['an instance with toJSON', [new Money(5), new Money(6)], '[{"cents":5},{"cents":6}]'],
    ['one that gives itself', { toJSON: () => JSON.parse('{"a":[1]}') as unknown }, '{"a":[1]}'],
    ['an object without prototype', Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    ['an object of another realm', structuredClone({ a: {}, b: [] }), '{"a":{},"b":[]}'],
    ['texts and numbers in boxes', [new String('a'), new Number(5)], '["a",5]'],
    ['empty ones', [{}, [], '', null, false, 0], '[{},[],"",null,false,0]'],
    ['a negative zero, which JSON has no sign for', -0, '0'],
  ])('%s', (_, payload, json) => {
    expect(encode(payload)).toBe(json);
  });

  test('inherited properties are not in a payload', () => {
    expect(encode(Object.assign(Object.create({ inherited: () => 1 }), { a: 1 }))).toBe('{"a":1}');
  });

  test('the same object in many places', () => {
    const tag = { name: 'a' };
    expect(encode(Array.from({ length: 1_000 }, () => tag))).toHaveLength(1_000 * 13 + 1);
  });
});

test('the call rejects, and nothing is stored', async () => {
  const prefix = freshPrefix();
  const queue = new Queue(redis, 'q', { prefix });
  for (const payload of [Number.NaN, { a: new Map() }, [undefined]]) {
    const calls = [
      queue.enqueue('t', payload),
      queue.enqueueMany([
        { name: 't', payload: 1 },
        { name: 't', payload },
      ]),
      queue.enqueueFlow({ name: 't', payload, children: [{ name: 't', payload: 1 }] }),
      queue.schedule('s', { everyMs: 1_000 }, 't', payload),
    ];
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'ERR_INVALID_PAYLOAD' });
  }
  expect(await redis.keys(`${prefix}:queues:{q}*`)).toEqual([]);
});
