/**
 * A cached row: a head in ASCII, then the encoded row:
 *
 *   2 vvvv hhhhhhhhhhh ttttttttttttt …
 *   │ │    │           └ when it was loaded: 13 digits, ms of the server's clock
 *   │ │    └ hash of the encoded row, 66 bits in base64url; dashes: the row is missing
 *   │ └ version of the rows' shape, hexadecimal
 *   └ version of this format
 *
 * The schedule also contains the first 16 bytes, which show whether a row has changed. A value of another version
 * reads as absent, so old and new code may share a table during a deployment.
 */
import { hash } from 'node:crypto';
import type { Codec } from '../codec.js';

const FORMAT = '2';
const HASH_AT = 5;
const LOADED_AT = 16;
const ROW_AT = 29;
const MISSING = '-'.repeat(LOADED_AT - HASH_AT);

/** A value to store, and the size of the row in it. */
export interface EncodedRow {
  /** Its first 16 characters. */
  readonly head: string;
  readonly value: string | Buffer;
  readonly bytes: number;
}

/** A decoded stored row. */
export interface StoredRow<Row> {
  /** Null: missing. */
  readonly row: Row | null;
  /** Equal for equal rows. */
  readonly etag: string;
  /** When the stored value was loaded; later loads may have found it unchanged. */
  readonly loadedAt: number;
}

/** The codec of one table. */
export class RowCodec<Row> {
  readonly #codec: Codec<Row>;
  readonly #head: string;
  readonly #headBytes: Buffer;

  constructor(codec: Codec<Row>, version: number) {
    this.#codec = codec;
    this.#head = FORMAT + version.toString(16).padStart(4, '0');
    this.#headBytes = Buffer.from(this.#head);
  }

  /** @param loadedAt 13 digits. Throws the error of the codec: TypeError for a row without a JSON form. */
  encode(row: Row, loadedAt: string): EncodedRow {
    const encoded = this.#codec.encode(row);
    const head = this.#head + hash('sha1', encoded, 'base64url').slice(0, LOADED_AT - HASH_AT);
    if (typeof encoded === 'string') {
      return { head, value: head + loadedAt + encoded, bytes: Buffer.byteLength(encoded) };
    }
    const value = Buffer.concat([Buffer.from(head + loadedAt), encoded]);
    return { head, value, bytes: encoded.length };
  }

  /** The value of a missing row. */
  tombstone(loadedAt: string): string {
    return this.#head + MISSING + loadedAt;
  }

  /** Null for an absent value, or one of another version. Throws the error of the codec. */
  decode(value: Buffer | null): Row | null {
    return this.#isOurs(value) && !isMissing(value) ? this.#codec.decode(value.subarray(ROW_AT)) : null;
  }

  /** `decode` with the content of the head. */
  read(value: Buffer | null): StoredRow<Row> | null {
    if (!this.#isOurs(value)) return null;
    return {
      row: this.decode(value),
      etag: value.toString('latin1', HASH_AT, LOADED_AT),
      loadedAt: Number(value.toString('latin1', LOADED_AT, ROW_AT)),
    };
  }

  #isOurs(value: Buffer | null): value is Buffer {
    return value !== null && value.compare(this.#headBytes, 0, HASH_AT, 0, HASH_AT) === 0;
  }
}

function isMissing(value: Buffer): boolean {
  return value.toString('latin1', HASH_AT, LOADED_AT) === MISSING;
}

/** Whether the first head belongs to a value of the same format and version as the second. */
export function hasValueLike(first: string, second: string): boolean {
  return first.slice(0, HASH_AT) === second.slice(0, HASH_AT) && first.slice(HASH_AT) !== MISSING;
}
