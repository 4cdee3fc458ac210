import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { DEFAULT_PREFIX, KeySpace, decodeName, encodeName, keySlot } from '../src/index.js';
import { connect } from './fixture/clients.js';

/** Names that have broken somebody's keys: ends of hash tags, escapes, separators, what no UTF-8 has. */
const HOSTILE = [
  '}x', '{}', '{', '}', '{}x}', '%', '%7D', '%7d', '%%', '%uD800', ':', 'a:b', '::', ' ', '*', '😀', 'é', 'e\u0301',
  '\n', '\r\n', '\0', '\u007f', '\u0080', '\u009f', '\u2028', '\ud800', '\udc00', '\udc00\ud800', '\ud800\ud800\udc00',
  '__proto__', 'constructor', 'x'.repeat(1024), '\0'.repeat(1024), '€'.repeat(341),
]; // prettier-ignore

/** Any UTF-16 code units, lone surrogates included, and many of the characters that matter here. */
const anyString = fc.oneof(
  fc.string({
    unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
    maxLength: 40,
  }),
  fc.string({ unit: fc.constantFrom(...'{}%:u07DFa\0\n\ud83d\ude00'.split('')), maxLength: 12 }),
);
const anyName = anyString.filter((name) => name.length > 0);

interface Address {
  prefix: string;
  packageName: string;
  entity: string;
  part: string;
  detail: string | undefined;
}

function keyAt({ prefix, packageName, entity, part, detail }: Address): string {
  return new KeySpace(packageName, prefix).entity(entity).key(part, detail);
}

describe('encodeName', () => {
  test('leaves harmless characters as they are, so that keys stay readable', () => {
    expect(encodeName('invoice:42 é 😀/x*?[]')).toBe('invoice:42 é 😀/x*?[]');
  });

  test.each([
    ['}x', '%7Dx'],
    ['{}', '%7B%7D'],
    ['%7D', '%257D'],
    ['a\nb\0', 'a%0Ab%00'],
    ['\u0085', '%85'],
    ['\ud800', '%uD800'],
    ['\udc00😀\ud83d', '%uDC00😀%uD83D'],
  ])('%j becomes %j', (name, encoded) => {
    expect(encodeName(name)).toBe(encoded);
  });

  test('is undone by decodeName, and leaves no brace, control character or lone surrogate', () => {
    fc.assert(
      fc.property(anyString, (name) => {
        const encoded = encodeName(name);
        expect(decodeName(encoded)).toBe(name);
        expect(encoded).not.toMatch(/[{}\p{Cc}\p{Cs}]/u);
        expect(Buffer.from(encoded).toString()).toBe(encoded);
      }),
      { numRuns: 2_000 },
    );
  });

  test('gives distinct names distinct encodings', () => {
    expect(new Set(HOSTILE.map(encodeName)).size).toBe(HOSTILE.length);
    fc.assert(
      fc.property(anyString, anyString, (one, other) => {
        expect(encodeName(one) === encodeName(other)).toBe(one === other);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('KeySpace', () => {
  const space = new KeySpace('locks', 'app');

  test('builds <prefix>:<package>:{<entity>}:<part>:<detail>', () => {
    const keys = space.entity('invoice:42');
    expect(keys.name).toBe('invoice:42');
    expect(keys.key('lease')).toBe('app:locks:{invoice:42}:lease');
    expect(keys.key('wake', 'a}:b')).toBe('app:locks:{invoice:42}:wake:a%7D:b');
    expect(keys.key('wake', '')).toBe('app:locks:{invoice:42}:wake:');
    expect(new KeySpace('locks').entity('x').key('lease')).toBe(`${DEFAULT_PREFIX}:locks:{x}:lease`);
  });

  test('never gives one key for two of prefix, package, entity, part and detail', () => {
    const address = fc.record({
      prefix: anyName,
      packageName: fc.constantFrom('a', 'locks', 'b-c'),
      entity: anyName,
      part: fc.constantFrom('a', 'lease', 'wake', 'a}', '%7D', '{x}'),
      detail: fc.option(anyString, { nil: undefined }),
    });
    const field = fc.constantFrom('prefix', 'packageName', 'entity', 'part', 'detail');
    fc.assert(
      fc.property(address, address, field, (one, other, changed) => {
        const near = { ...one, [changed]: other[changed] };
        for (const second of [near, other]) {
          const isSame = JSON.stringify(one) === JSON.stringify(second);
          expect(keyAt(one) === keyAt(second)).toBe(isSame);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test('moving a colon between prefix, entity and detail gives another key', () => {
    const keys = [
      new KeySpace('locks', 'a').entity('b:c').key('d', 'e'),
      new KeySpace('locks', 'a:b').entity('c').key('d', 'e'),
      new KeySpace('locks', 'a:locks').entity('c').key('d', 'e'),
      new KeySpace('locks', 'a').entity('locks:b:c').key('d', 'e'),
      new KeySpace('locks', 'a').entity('b').key('d', 'c:e'),
      new KeySpace('locks', 'a').entity('b:').key('d', 'e'),
      new KeySpace('locks', 'a:').entity('b').key('d', 'e'),
      new KeySpace('locks', 'a').entity('b').key('d', ':e'),
      new KeySpace('locks', 'a').entity('b').key('d'),
      new KeySpace('locks', 'a').entity('b').key('d', ''),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });

  test('all parts of an entity share the slot that the server computes', async () => {
    const redis = connect();
    const names = [...HOSTILE, ...fc.sample(anyName, { numRuns: 300, seed: 7 })];
    const keys = names.map((name) => {
      const entity = new KeySpace('locks', name.slice(0, 5)).entity(name);
      return [entity.key('lease'), entity.key('wake', name), entity.key('}{')];
    });
    const slots = await Promise.all(
      keys.map((parts) => Promise.all(parts.map((key) => redis.cluster('KEYSLOT', key)))),
    );
    expect(keys.map((parts) => parts.map(keySlot))).toEqual(slots);
    expect(slots.filter((parts) => new Set(parts).size > 1)).toEqual([]);
  });

  test.each([
    ['', 'name must have 1 to 1024 bytes, got 0'],
    ['x'.repeat(1025), 'name must have 1 to 1024 bytes, got 1025'],
    ['€'.repeat(342), 'name must have 1 to 1024 bytes, got 1026'],
    ['\ud800'.repeat(342), 'name must have 1 to 1024 bytes, got 1026'],
  ])('refuses a name that is empty or too long', (name, message) => {
    expect(() => space.entity(name)).toThrow(new RangeError(message));
  });

  test.each([[undefined], [null], [42], [Symbol.iterator], [['x']], [Buffer.from('x')]])(
    'refuses a name that is no string: %p',
    (name) => {
      expect(() => space.entity(name as unknown as string, 'queue')).toThrow(TypeError);
      expect(() => space.entity(name as unknown as string, 'queue')).toThrow(/^queue must be a string, got /);
    },
  );

  test('refuses an empty prefix, a package name that is none, and a part with a colon', () => {
    expect(() => new KeySpace('locks', '')).toThrow(
      new RangeError('prefix must have 1 to 1024 bytes, got 0'),
    );
    expect(() => new KeySpace('locks', 7 as unknown as string)).toThrow(
      new TypeError('prefix must be a string, got number'),
    );
    for (const name of ['', 'a:b', '{a}', 'Locks'])
      expect(() => new KeySpace(name)).toThrow(
        expect.objectContaining({
          code: 'ERR_INVALID_ARG',
          message: `packageName must be lower-case letters and "-", got "${name}"`,
        }),
      );
    expect(() => space.entity('x').key('a:b')).toThrow(
      expect.objectContaining({
        code: 'ERR_INVALID_ARG',
        message: 'a part must not contain ":", got "a:b"',
      }),
    );
  });
});

describe('keySlot', () => {
  test('gives the values of the Cluster specification', () => {
    expect(keySlot('123456789')).toBe(0x31c3);
    expect(keySlot('')).toBe(0);
    expect(keySlot('{user1000}.following')).toBe(keySlot('{user1000}.followers'));
    expect(keySlot('foo{{bar}}zap')).toBe(keySlot('{bar'));
    expect(keySlot('foo{bar}{zap}')).toBe(keySlot('bar'));
  });

  test('equals CLUSTER KEYSLOT for any key, also where ioredis differs', async () => {
    const redis = connect();
    const keys = [
      'q:{}x}:tasks', '{}', '{}{a}', '}{', '{', '}', '{a', 'a}b{c}', '{{}', '{}}', '{😀}', '\ud800{\udc00}',
      ...fc.sample(fc.string({ unit: 'binary', maxLength: 30 }), { numRuns: 300, seed: 11 }),
      ...fc.sample(fc.string({ unit: fc.constantFrom('{', '}', 'a', 'é'), maxLength: 10 }), { numRuns: 300, seed: 12 }),
    ]; // prettier-ignore
    const slots = await Promise.all(keys.map((key) => redis.cluster('KEYSLOT', key)));
    expect(keys.map(keySlot)).toEqual(slots);
  });
});
