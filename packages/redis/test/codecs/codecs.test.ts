import { randomBytes } from 'node:crypto';
import { brotliCompressSync, constants } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { Codecs, decodedJson, isEncoded, readJson } from '@mortise/redis';
import type { PayloadCodec } from '@mortise/redis';
import { compression, encryption } from '@mortise/redis/codecs';

const long = JSON.stringify({ text: 'grün '.repeat(2_000) });
const [k1, k2] = [randomBytes(32), randomBytes(32)];
const codecs = (...all: PayloadCodec[]): Codecs => Codecs.of(all)!;
/** Of a class, whose functions need their `this`. */
class Reversed implements PayloadCodec {
  readonly name = 'reversed';
  readonly #turn = (bytes: Buffer): Buffer => Buffer.from(bytes.toReversed());

  encode(bytes: Buffer): Buffer {
    return this.#turn(bytes);
  }

  decode(bytes: Buffer): Buffer {
    return this.#turn(bytes);
  }
}
const reversed = new Reversed();

describe('values', () => {
  test.each([
    ['compressed', codecs(compression())],
    ['encrypted', codecs(encryption({ keys: { k1 }, current: 'k1' }))],
    ['compressed, then encrypted', codecs(compression(), encryption({ keys: { k1 }, current: 'k1' }))],
    ['of a codec of the user', codecs(reversed)],
  ])('%s come back as they were', (_, all) => {
    const stored = all.encode(long);
    expect(stored).not.toContain('grün');
    expect(decodedJson(stored, all)).toBe(long);
    expect(readJson(stored, all)).toEqual(JSON.parse(long));
    expect(all.encode(long)).toBe(stored);
  });

  test('that are plain are read with codecs, and encoded ones are shown without', () => {
    const all = codecs(compression(), reversed);
    const stored = all.encode(long);
    expect(readJson(long, all)).toEqual(JSON.parse(long));
    const shown = readJson(stored, undefined);
    expect(isEncoded(shown)).toBe(true);
    expect(shown).toEqual({ $codec: 'br,reversed', data: expect.any(String) });
    expect(() => decodedJson(stored, undefined)).toThrow(
      expect.objectContaining({ code: 'ERR_PAYLOAD_ENCODED', codec: 'br,reversed' }),
    );
  });

  test.each([{ $codec: 'br' }, { $codec: 'br', data: 1 }, { $codec: 'br', data: 'x', more: 1 }, null, 'br'])(
    '%j is no encoded value',
    (value) => {
      expect(isEncoded(value)).toBe(false);
      expect(decodedJson(JSON.stringify(value), undefined)).toBe(JSON.stringify(value));
    },
  );
});

describe('compression', () => {
  test('leaves small values, and those that would not become smaller', () => {
    const all = codecs(compression());
    const random = JSON.stringify(randomBytes(5_000).toString('base64'));
    expect([all.encode('{"a":1}'), all.encode(random)]).toEqual(['{"a":1}', random]);
    expect(all.encode(long).length).toBeLessThan(long.length / 50);
  });

  test('does not unpack more than 64 MiB', () => {
    const params = { [constants.BROTLI_PARAM_QUALITY]: 1 };
    const bomb = brotliCompressSync(Buffer.alloc(64 * 1024 * 1024 + 1), { params }).toString('base64');
    expect(() => codecs(compression()).decode({ $codec: 'br', data: bomb })).toThrow(
      expect.objectContaining({ code: 'ERR_PAYLOAD_ENCODED' }),
    );
  });

  test.each([{ aboveBytes: -1 }, { quality: 12 }, { level: 3 }])('refuses %j', (options) => {
    expect(() => compression(options)).toThrow(expect.objectContaining({ code: 'ERR_INVALID_ARG' }));
  });
});

describe('encryption', () => {
  const old = codecs(encryption({ keys: { k1 }, current: 'k1' }));
  const rotated = codecs(encryption({ keys: { k1, k2 }, current: 'k2' }));

  test('reads values of an older key, and not those of an unknown one', () => {
    expect(decodedJson(old.encode(long), rotated)).toBe(long);
    expect(() => decodedJson(rotated.encode(long), old)).toThrow(/there is no key "k2"/);
    expect(isEncoded(readJson(rotated.encode(long), old))).toBe(true);
  });

  test('of different values has different nonces, and of a key of another value too', () => {
    const nonceOf = (all: Codecs, json: string): string =>
      Buffer.from((JSON.parse(all.encode(json)) as { data: string }).data, 'base64').toString('hex', 4, 16);
    const nonces = [nonceOf(old, '1'), nonceOf(old, '2'), nonceOf(rotated, '1')];
    expect(new Set(nonces).size).toBe(3);
  });

  test('refuses a value of which any bit was changed', () => {
    const { $codec, data } = JSON.parse(old.encode('"pay 100"')) as { $codec: string; data: string };
    const bytes = Buffer.from(data, 'base64');
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at] = changed[at]! ^ 1;
      expect(() => old.decode({ $codec, data: changed.toString('base64') })).toThrow(
        expect.objectContaining({ code: 'ERR_PAYLOAD_ENCODED' }),
      );
    }
    for (const length of [0, 1, 3, 31]) {
      const cut = bytes.subarray(0, length).toString('base64');
      expect(() => old.decode({ $codec, data: cut })).toThrow(
        expect.objectContaining({ code: 'ERR_PAYLOAD_ENCODED' }),
      );
    }
  });

  test.each([
    { keys: { k1 }, current: 'k2' },
    { keys: { k1: randomBytes(16) }, current: 'k1' },
    { keys: { 'k 1': k1 }, current: 'k 1' },
    { keys: { k1: 'secret of 32 characters, as a text' as never }, current: 'k1' },
  ])('refuses wrong keys without showing them', (options) => {
    const refused = (): unknown => encryption(options);
    expect(refused).toThrow(expect.objectContaining({ code: 'ERR_INVALID_ARG' }));
    expect(refused).not.toThrow(/secret/);
  });
});

describe('codecs', () => {
  test.each([
    [[]],
    [[compression(), compression()]],
    [[{ ...compression(), name: 'Not a name' }]],
    [[{ name: 'none' } as never]],
    ['br' as never],
  ])('are refused: %j', (given) => {
    expect(() => Codecs.of(given)).toThrow(expect.objectContaining({ code: 'ERR_INVALID_ARG' }));
  });
});
