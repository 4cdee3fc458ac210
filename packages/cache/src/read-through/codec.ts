import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** How values become bytes. `encode` must give the same bytes for what `decode` gives back; either may throw. */
export interface Codec<Value> {
  encode(value: Value): Buffer | string;
  decode(bytes: Buffer): Value;
}

/**
 * JSON: a `Date` comes back as text. What has no JSON form is refused with TypeError, as is what has that of null, such as NaN, which would
 * read as if there were nothing.
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

/** Throws RangeError for what would become larger than `maxBytes`. */
export function decompress(bytes: Buffer, maxBytes: number): Buffer {
  return inflateRawSync(bytes, { maxOutputLength: maxBytes });
}
