import { describe, expect, test } from '@jest/globals';
import type { RedisClient } from '../src/index.js';
import {
  MAX_NAME_BYTES,
  requireArray,
  requireBoolean,
  requireClient,
  requireDuration,
  requireFunction,
  requireInteger,
  requireKnown,
  requireName,
  requireNumber,
  requireObject,
  requireOneOf,
  requireOptions,
  requireSignal,
  requireText,
} from '../src/index.js';

const NO_NUMBERS: [string, unknown][] = [
  ['undefined', undefined],
  ['null', null],
  ['string', '5'],
  ['boolean', true],
  ['bigint', 5n],
  ['an array', [5]],
  ['object', new Date(5)],
];

describe('requireInteger', () => {
  test('returns whole numbers within the limits', () => {
    expect([1, 5, 10].map((value) => requireInteger('limit', value, { min: 1, max: 10 }))).toEqual([
      1, 5, 10,
    ]);
    expect(requireInteger('limit', Number.MAX_SAFE_INTEGER, { min: 0 })).toBe(Number.MAX_SAFE_INTEGER);
  });

  test.each(NO_NUMBERS)('refuses %s', (name, value) => {
    expect(() => requireInteger('limit', value, { min: 1, max: 10 })).toThrow(
      new TypeError(`limit must be a number, got ${name}`),
    );
  });

  test.each([[0], [11], [-1], [1.5], [Number.NaN], [Infinity], [-Infinity], [2 ** 53]])(
    'refuses %d',
    (value) => {
      expect(() => requireInteger('limit', value, { min: 1, max: 10 })).toThrow(
        new RangeError(`limit must be a whole number from 1 to 10, got ${value}`),
      );
    },
  );

  test('without a maximum the largest safe integer is the limit', () => {
    expect(() => requireInteger('limit', 2 ** 53, { min: 0 })).toThrow(
      new RangeError('limit must be a whole number from 0 to 9007199254740991, got 9007199254740992'),
    );
  });
});

describe('requireNumber', () => {
  test('returns numbers within the limits, without limits every finite one', () => {
    expect([0, 0.25, 0.5].map((value) => requireNumber('jitter', value, { min: 0, max: 0.5 }))).toEqual([
      0, 0.25, 0.5,
    ]);
    expect(requireNumber('score', -Number.MAX_VALUE)).toBe(-Number.MAX_VALUE);
  });

  test.each(NO_NUMBERS)('refuses %s', (name, value) => {
    expect(() => requireNumber('jitter', value)).toThrow(
      new TypeError(`jitter must be a number, got ${name}`),
    );
  });

  test.each([[-0.1], [0.6], [Number.NaN], [Infinity]])('refuses %d', (value) => {
    expect(() => requireNumber('jitter', value, { min: 0, max: 0.5 })).toThrow(
      new RangeError(`jitter must be from 0 to 0.5, got ${value}`),
    );
  });

  test.each([[Number.NaN], [Infinity], [-Infinity]])('refuses %d without limits, too', (value) => {
    expect(() => requireNumber('score', value)).toThrow(
      new RangeError(`score must be a finite number, got ${value}`),
    );
  });
});

describe('requireDuration', () => {
  test('returns numbers within the limits, Infinity only where it is the maximum', () => {
    expect([0, 0.5, 10].map((value) => requireDuration('waitMs', value, { min: 0, max: 10 }))).toEqual([
      0, 0.5, 10,
    ]);
    expect(requireDuration('waitMs', Infinity, { min: 0, max: Infinity })).toBe(Infinity);
  });

  test.each(NO_NUMBERS)('refuses %s', (name, value) => {
    expect(() => requireDuration('waitMs', value, { min: 0, max: 10 })).toThrow(
      new TypeError(`waitMs must be a number of milliseconds, got ${name}`),
    );
  });

  test.each([[-1], [10.5], [Number.NaN], [Infinity], [-Infinity]])('refuses %d', (value) => {
    expect(() => requireDuration('waitMs', value, { min: 0, max: 10 })).toThrow(
      new RangeError(`waitMs must be from 0 to 10 ms, got ${value}`),
    );
  });
});

describe('requireName', () => {
  test.each([['a'], ['x'.repeat(MAX_NAME_BYTES)], ['\0'], ['😀'.repeat(256)], ['\ud800'], [' ']])(
    'returns %j as it is',
    (name) => {
      expect(requireName('name', name)).toBe(name);
    },
  );

  test('counts the bytes of UTF-8, three for a lone surrogate', () => {
    expect(() => requireName('name', `${'😀'.repeat(256)}a`)).toThrow(
      new RangeError('name must have 1 to 1024 bytes, got 1025'),
    );
    expect(() => requireName('name', '\ud800'.repeat(342))).toThrow(
      new RangeError('name must have 1 to 1024 bytes, got 1026'),
    );
  });

  test('refuses values other than strings', () => {
    expect(() => requireName('queue', new String('a'))).toThrow(
      new TypeError('queue must be a string, got object'),
    );
  });
});

describe('requireText', () => {
  test.each([['a'], ['\0'], ['😀'.repeat(256)]])('returns %j', (text) => {
    expect(requireText('id', text)).toBe(text);
  });

  test.each([['\ud800'], ['a\udc00'], ['\udc00\ud800']])('refuses %j', (text) => {
    expect(() => requireText('id', text)).toThrow(
      new TypeError('id must be well-formed Unicode, got a lone surrogate'),
    );
  });

  test('has its own limits, in bytes of UTF-8', () => {
    expect(requireText('line', '', { min: 0, max: 4 })).toBe('');
    expect(requireText('line', '😀', { max: 4 })).toBe('😀');
    expect(() => requireText('line', '😀a', { max: 4 })).toThrow(
      new RangeError('line must have 1 to 4 bytes, got 5'),
    );
    expect(() => requireText('id', '')).toThrow(new RangeError('id must have 1 to 1024 bytes, got 0'));
    expect(() => requireText('id', 5)).toThrow(new TypeError('id must be a string, got number'));
  });
});

describe('requireArray', () => {
  test('returns an array within the limits', () => {
    const names: readonly string[] = requireArray('names', ['a', 'b'], { min: 2, max: 2 });
    expect(names).toEqual(['a', 'b']);
    expect(requireArray('names', [])).toEqual([]);
  });

  test.each([
    [() => requireArray('names', 'ab' as never), TypeError, 'names must be an array, got string'],
    [() => requireArray('names', { length: 1 } as never), TypeError, 'names must be an array, got object'],
    [() => requireArray('names', [], { min: 1 }), RangeError, 'names must have at least 1 items, got 0'],
    [
      () => requireArray('names', [1, 2], { min: 3, max: 5 }),
      RangeError,
      'names must have 3 to 5 items, got 2',
    ],
    [() => requireArray('names', [1, 2], { max: 1 }), RangeError, 'names must have 0 to 1 items, got 2'],
  ])('refuses other values (%#)', (check, Misuse, message) => {
    expect(check).toThrow(new Misuse(message));
  });
});

describe('requireOneOf', () => {
  test('returns the word, typed', () => {
    const order: 'oldest' | 'latest' = requireOneOf('order', 'latest', ['oldest', 'latest']);
    expect(order).toBe('latest');
  });

  test.each([
    ['newest', '"newest"'],
    ['toString', '"toString"'],
    [undefined, 'undefined'],
    [0, 'number'],
    [['oldest'], 'an array'],
  ])('refuses %j', (value, got) => {
    expect(() => requireOneOf('order', value, ['oldest', 'latest'])).toThrow(
      new RangeError(`order must be one of oldest, latest, got ${got}`),
    );
  });
});

describe('checks of types', () => {
  const { signal } = new AbortController();
  const act = (): void => undefined;
  const date = new Date(5);

  test.each([
    ['requireBoolean', requireBoolean('fair', false), false],
    ['requireFunction', requireFunction('load', act), act],
    ['requireObject', requireObject('near', date), date],
    ['requireSignal', requireSignal(signal), signal],
    ['requireSignal without one', requireSignal(undefined), undefined],
  ])('%s returns the value', (_, result, value) => {
    expect(result).toBe(value);
  });

  test.each([
    [() => requireBoolean('fair', 1), 'fair must be true or false, got number'],
    [() => requireBoolean('fair', undefined), 'fair must be true or false, got undefined'],
    [() => requireFunction('load', {}), 'load must be a function, got object'],
    [() => requireObject('near', null as never), 'near must be an object, got null'],
    [() => requireObject('near', [] as never), 'near must be an object, got an array'],
    [() => requireObject('near', act), 'near must be an object, got function'],
    [() => requireSignal(null as never), 'signal must be an AbortSignal, got null'],
    [() => requireSignal(new EventTarget() as never), 'signal must be an AbortSignal, got object'],
  ])('refuse other values (%#)', (check, message) => {
    expect(check).toThrow(new TypeError(message));
  });
});

describe('requireOptions', () => {
  const known = new Set(['leaseMs', 'fair']);

  test('returns known options, whatever their values', () => {
    const options = { leaseMs: undefined };
    expect(requireOptions('Mutex', options, known)).toBe(options);
    expect(requireKnown('Mutex', Object.create(null), known)).toEqual({});
  });

  test.each([
    [() => requireOptions('Mutex', 5 as never, known), 'options must be an object, got number'],
    [
      () => requireOptions('Mutex', { leasems: 5 }, known),
      'Mutex has no option "leasems"; there are leaseMs, fair',
    ],
    [
      () => requireOptions('Mutex', { lease: undefined }, known),
      'Mutex has no option "lease"; there are leaseMs, fair',
    ],
    [
      () => requireOptions('Mutex', Object.create({ toString: 5 }), known),
      'Mutex has no option "toString"; there are leaseMs, fair',
    ],
    [() => requireKnown('size', { exact: true }, new Set()), 'size has no option "exact"; there are none'],
  ])('refuses unknown ones with the list of known ones (%#)', (check, message) => {
    expect(check).toThrow(new TypeError(message));
  });
});

test.each([
  ['TypeError', TypeError, () => requireBoolean('fair', 0)],
  ['TypeError', TypeError, () => requireOptions('Mutex', { a: 1 }, new Set())],
  ['TypeError', TypeError, () => requireInteger('limit', '5', { min: 1 })],
  ['RangeError', RangeError, () => requireInteger('limit', 0, { min: 1 })],
  ['TypeError', TypeError, () => requireDuration('waitMs', '5', { min: 1, max: 2 })],
  ['RangeError', RangeError, () => requireDuration('waitMs', 5, { min: 1, max: 2 })],
  ['TypeError', TypeError, () => requireName('name', 5)],
  ['RangeError', RangeError, () => requireName('name', '')],
  ['TypeError', TypeError, () => requireNumber('jitter', '5')],
  ['RangeError', RangeError, () => requireNumber('jitter', 5, { max: 1 })],
  ['TypeError', TypeError, () => requireText('id', '\ud800')],
  ['TypeError', TypeError, () => requireArray('names', 5 as never)],
  ['RangeError', RangeError, () => requireArray('names', [], { min: 1 })],
  ['RangeError', RangeError, () => requireOneOf('order', 'newest', ['oldest'])],
  ['TypeError', TypeError, () => requireClient(null as unknown as RedisClient)],
])('a refusal is a %s with a code', (name, type, call) => {
  expect(call).toThrow(type);
  expect(call).toThrow(expect.objectContaining({ name, code: 'ERR_INVALID_ARG' }));
});
