import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** How values become bytes. `encode` must give the same bytes for what `decode` gives back; either may throw. */
export interface Codec<Value> {
  encode(value: Value): Buffer | string;
  decode(bytes: Buffer): Value;
}

/** JSON: a `Date` comes back as text, what has no JSON form is refused with TypeError. */
export const jsonCodec: Codec<unknown> = {
  encode: (value) => {
    const json = JSON.stringify(value) as string | undefined;
    if (json === undefined) throw new TypeError(`a value must have a JSON form, got ${typeof value}`);
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
