/**
 * The values of Keyv as bytes. Keyv serializes to text, or to bytes if it encrypts or compresses. Without a serializer it passes
 * objects. The first byte says which, so that a reader gets what was stored.
 */
import type { Codec } from '../codec.js';
import { jsonCodec } from '../codec.js';

const TEXT = 't';
const BYTES = 'b';
const JSON_VALUE = 'j';

export const keyvCodec: Codec<unknown> = {
  encode(value) {
    if (typeof value === 'string') return TEXT + value;
    if (value instanceof Uint8Array) return Buffer.concat([Buffer.from(BYTES), value]);
    return JSON_VALUE + String(jsonCodec.encode(value));
  },
  decode(stored) {
    const rest = stored.subarray(1);
    switch (String.fromCharCode(stored[0]!)) {
      case TEXT:
        return rest.toString();
      case BYTES:
        // A copy: the reply of Redis, which it lies in, may be much larger.
        return Buffer.from(rest);
      case JSON_VALUE:
        return jsonCodec.decode(rest);
      default:
        throw new TypeError('it was not stored by a KeyvStore');
    }
  },
};
