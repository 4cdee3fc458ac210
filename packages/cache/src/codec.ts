import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { ArgumentTypeError, wholeJson } from '@mortise/redis';

/** Converts values to bytes and back. Equal values must give equal bytes. Either function may throw. */
export interface Codec<Value> {
  encode(value: Value): Buffer | string;
  decode(bytes: Buffer): Value;
}

/**
 * JSON: a `Date` comes back as text. Throws TypeError for a value that JSON would change, such as a Map or NaN: the process that
 * loaded it would have another value than all others. Also for a value whose JSON is `null`, which means that there is none.
 */
export const jsonCodec: Codec<unknown> = {
  encode: (value) => {
    const json = wholeJson(value, Infinity, ({ text }) => new TypeError(`the value ${text}`));
    if (json === 'null') throw new TypeError('the value is null in JSON, which means that there is none');
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
