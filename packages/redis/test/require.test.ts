import { describe, expect, test } from '@jest/globals';
import {
  MAX_NAME_BYTES,
  requireArray,
  requireIterable,
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

const limit = (value: unknown): number => requireInteger('limit', value, { min: 1, max: 10 });
const count = (value: unknown): number => requireInteger('count', value, { min: 0 });
const jitter = (value: unknown): number => requireNumber('jitter', value, { min: 0, max: 0.5 });
const score = (value: unknown): number => requireNumber('score', value);
const waitMs = (value: unknown): number => requireDuration('waitMs', value, { min: 0, max: 10 });
const name = (value: unknown): string => requireName('name', value);
const id = (value: unknown): string => requireText('id', value);
const order = (value: unknown): 'oldest' | 'latest' => requireOneOf('order', value, ['oldest', 'latest']);
const OPTIONS = new Set(['leaseMs', 'fair']);
const mutex = (value: object): object => requireOptions('Mutex', value, OPTIONS);

const act = (): void => undefined;
const { signal } = new AbortController();
const names: readonly string[] = ['a', 'b'];

test.each<[string, (value: never) => unknown, unknown[]]>([
  ['a whole number from 1 to 10', limit, [1, 5, 10]],
  ['a whole number without a maximum', count, [0, Number.MAX_SAFE_INTEGER]],
  ['a number from 0 to 0.5', jitter, [0, 0.25, 0.5]],
  ['a finite number', score, [-Number.MAX_VALUE]],
  ['a duration', waitMs, [0, 0.5, 10]],
  [
    'an infinite duration, only where that is the maximum',
    (value) => requireDuration('waitMs', value, { min: 0, max: Infinity }),
    [Infinity],
  ],
  ['a name', name, ['a', 'x'.repeat(MAX_NAME_BYTES), '\0', '😀'.repeat(256), '\ud800', ' ']],
  ['a text', id, ['a', '\0', '😀'.repeat(256)]],
  ['a text with its own limits', (value) => requireText('line', value, { min: 0, max: 4 }), ['', '😀']],
  ['an iterable', (value: string[]) => requireIterable('ids', value), [[], names]],
  ['an array', (value: string[]) => requireArray('names', value), [[], names]],
  ['an array of two', (value: string[]) => requireArray('names', value, { min: 2, max: 2 }), [names]],
  ['a word', order, ['oldest', 'latest']],
  ['a boolean', (value) => requireBoolean('fair', value), [true, false]],
  ['a function', (value) => requireFunction('load', value), [act]],
  ['an object', (value) => requireObject('near', value), [new Date(5)]],
  ['a signal, or none', requireSignal, [signal, undefined]],
  ['options', mutex, [{ leaseMs: undefined }]],
  [
    'options without a prototype',
    (value) => requireKnown('Mutex', value, OPTIONS),
    [Object.create(null) as object],
  ],
])('%s is returned', (_, check, values) => {
  for (const value of values) expect(check(value as never)).toBe(value);
});

type Refusal = [message: string, check: (value: never) => unknown, value: unknown];

/** Values that are no numbers, as messages name them. */
const NO_NUMBERS: [string, unknown][] = [
  ['undefined', undefined],
  ['null', null],
  ['string', '5'],
  ['boolean', true],
  ['bigint', 5n],
  ['an array', [5]],
  ['object', new Date(5)],
];

const TYPE_ERRORS: Refusal[] = [
  ...NO_NUMBERS.flatMap(([got, value]): Refusal[] => [
    [`limit must be a number, got ${got}`, limit, value],
    [`jitter must be a number, got ${got}`, jitter, value],
    [`score must be a number, got ${got}`, score, value],
    [`waitMs must be a number of milliseconds, got ${got}`, waitMs, value],
  ]),
  ['name must be a string, got number', name, 5],
  ['name must be a string, got object', name, new String('a')],
  ['id must be a string, got number', id, 5],
  ...['\ud800', 'a\udc00', '\udc00\ud800'].map((text): Refusal => [
    'id must be well-formed Unicode, got a lone surrogate',
    id,
    text,
  ]),
  ['names must be an array, got string', (value) => requireArray('names', value), 'ab'],
  ['ids must be an iterable or async iterable, got number', (value) => requireIterable('ids', value), 5],
  ['ids must be an iterable or async iterable, got null', (value) => requireIterable('ids', value), null],
  ['names must be an array, got number', (value) => requireArray('names', value), 5],
  ['names must be an array, got object', (value) => requireArray('names', value), { length: 1 }],
  ['fair must be true or false, got number', (value) => requireBoolean('fair', value), 1],
  ['fair must be true or false, got undefined', (value) => requireBoolean('fair', value), undefined],
  ['load must be a function, got object', (value) => requireFunction('load', value), {}],
  ['near must be an object, got null', (value) => requireObject('near', value), null],
  ['near must be an object, got an array', (value) => requireObject('near', value), []],
  ['near must be an object, got function', (value) => requireObject('near', value), act],
  ['signal must be an AbortSignal, got null', requireSignal, null],
  ['signal must be an AbortSignal, got object', requireSignal, new EventTarget()],
  [
    'redis must be a Redis or Cluster instance of ioredis 5.4 or later, or fromNodeRedis(client)',
    requireClient,
    null,
  ],
  ['options must be an object, got number', mutex, 5],
  ['Mutex has no option "leasems"; there are leaseMs, fair', mutex, { leasems: 5 }],
  ['Mutex has no option "lease"; there are leaseMs, fair', mutex, { lease: undefined }],
  // An inherited one.
  ['Mutex has no option "toString"; there are leaseMs, fair', mutex, Object.create({ toString: 5 })],
  [
    'size has no option "exact"; there are none',
    (value) => requireKnown('size', value, new Set()),
    { exact: true },
  ],
];

const RANGE_ERRORS: Refusal[] = [
  ...[0, 11, -1, 1.5, Number.NaN, Infinity, -Infinity, 2 ** 53].map((value): Refusal => [
    `limit must be a whole number from 1 to 10, got ${value}`,
    limit,
    value,
  ]),
  ['count must be a whole number from 0 to 9007199254740991, got 9007199254740992', count, 2 ** 53],
  ...[-0.1, 0.6, Number.NaN, Infinity].map((value): Refusal => [
    `jitter must be from 0 to 0.5, got ${value}`,
    jitter,
    value,
  ]),
  ...[Number.NaN, Infinity, -Infinity].map((value): Refusal => [
    `score must be a finite number, got ${value}`,
    score,
    value,
  ]),
  ['jitter must be from -Infinity to 1, got 5', (value) => requireNumber('jitter', value, { max: 1 }), 5],
  ...[-1, 10.5, Number.NaN, Infinity, -Infinity].map((value): Refusal => [
    `waitMs must be from 0 to 10 ms, got ${value}`,
    waitMs,
    value,
  ]),
  ['name must have 1 to 1024 bytes, got 0', name, ''],
  ['name must have 1 to 1024 bytes, got 1025', name, `${'😀'.repeat(256)}a`],
  // Three for a lone surrogate.
  ['name must have 1 to 1024 bytes, got 1026', name, '\ud800'.repeat(342)],
  ['id must have 1 to 1024 bytes, got 0', id, ''],
  ['line must have 1 to 4 bytes, got 5', (value) => requireText('line', value, { max: 4 }), '😀a'],
  ['names must have at least 1 items, got 0', (value: []) => requireArray('names', value, { min: 1 }), []],
  [
    'names must have 3 to 5 items, got 2',
    (value: []) => requireArray('names', value, { min: 3, max: 5 }),
    names,
  ],
  ['names must have 0 to 1 items, got 2', (value: []) => requireArray('names', value, { max: 1 }), names],
  ['order must be one of oldest, latest, got "newest"', order, 'newest'],
  ['order must be one of oldest, latest, got "toString"', order, 'toString'],
  ['order must be one of oldest, latest, got undefined', order, undefined],
  ['order must be one of oldest, latest, got number', order, 0],
  ['order must be one of oldest, latest, got an array', order, ['oldest']],
];

describe.each([
  { Misuse: TypeError, refusals: TYPE_ERRORS },
  { Misuse: RangeError, refusals: RANGE_ERRORS },
])('a $Misuse.name with a code', ({ Misuse, refusals }) => {
  test.each(refusals)('%s', (message, check, value) => {
    const refusal = (): unknown => check(value as never);
    expect(refusal).toThrow(Misuse);
    expect(refusal).toThrow(expect.objectContaining({ name: Misuse.name, code: 'ERR_INVALID_ARG', message }));
  });
});
