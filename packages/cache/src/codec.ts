import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { ArgumentTypeError } from '@mortise/redis';

/** Converts values to bytes and back. Equal values must give equal bytes. Either function may throw. */
export interface Codec<Value> {
  encode(value: Value): Buffer | string;
  decode(bytes: Buffer): Value;
}

/**
 * JSON: a `Date` comes back as text. Throws TypeError for a value without a JSON form and one whose JSON is `null`, such as
 * NaN, which would read like a known absence.
 */
export const jsonCodec: Codec<unknown> = {
  encode: (value) => {
    const json = JSON.stringify(value) as string | undefined;
    if (json === undefined || json === 'null') {
      const got = typeof value === 'number' ? value : typeof value;
      throw new TypeError(`a value must have a JSON form${json ? ' that is not null' : ''}, got ${got}`);
    }
    return json;
  },
  decode: (bytes) => JSON.parse(bytes.toString()) as unknown,
};

export function compress(bytes: Buffer): Buffer {
  return deflateRawSync(bytes, { level: 1 });
}

/** Throws RangeError if the result would exceed `maxBytes`. */
export function decompress(bytes: Buffer, maxBytes: number): Buffer {
  return inflateRawSync(bytes, { maxOutputLength: maxBytes });
}

/** Throws TypeError. */
export function requireCodec<Value>(codec: Codec<Value>): Codec<Value> {
  if (typeof codec?.encode === 'function' && typeof codec.decode === 'function') return codec;
  throw new ArgumentTypeError('codec must have the functions encode and decode');
}
