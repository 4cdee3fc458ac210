/**
 * A cached row is a head of ASCII, then what the codec gives:
 *
 *   2 vvvv hhhhhhhhhhh ttttttttttttt …
 *   │ │    │           └ when it was loaded: 13 digits, ms of the server's clock
 *   │ │    └ hash of what follows, 66 bits in base64url; dashes: the row is gone
 *   │ └ version of the rows' shape, hexadecimal
 *   └ version of this format
 *
 * The first 16 bytes are kept in the schedule as well, and tell a row that has changed from one that hasn't. A value of
 * another version reads as absent, so old and new code may share a table while a deployment rolls.
 */
import { hash } from 'node:crypto';
import type { Codec } from '../read-through/codec.js';

const FORMAT = '2';
const HASH_AT = 5;
const LOADED_AT = 16;
const ROW_AT = 29;
const GONE = '-'.repeat(LOADED_AT - HASH_AT);

/** A value as it is stored, and the bytes of the row in it. */
export interface EncodedRow {
  /** Its first 16 characters. */
  readonly head: string;
  readonly value: string | Buffer;
  readonly bytes: number;
}

/** A row as it was stored. */
export interface StoredRow<Row> {
  /** Null: it is gone. */
  readonly row: Row | null;
  /** Equal for equal rows. */
  readonly etag: string;
  /** When the value was loaded that is stored; it may have been found unchanged since. */
  readonly loadedAt: number;
}

/** Of one table. */
export class RowCodec<Row> {
  readonly #codec: Codec<Row>;
  readonly #head: string;
  readonly #headBytes: Buffer;

  constructor(codec: Codec<Row>, version: number) {
    this.#codec = codec;
    this.#head = FORMAT + version.toString(16).padStart(4, '0');
    this.#headBytes = Buffer.from(this.#head);
  }

  /** @param loadedAt 13 digits. Throws what the codec throws: TypeError for what has no JSON form. */
  encode(row: Row, loadedAt: string): EncodedRow {
    const encoded = this.#codec.encode(row);
    const head = this.#head + hash('sha1', encoded, 'base64url').slice(0, LOADED_AT - HASH_AT);
    if (typeof encoded === 'string') {
      return { head, value: head + loadedAt + encoded, bytes: Buffer.byteLength(encoded) };
    }
    const value = Buffer.concat([Buffer.from(head + loadedAt), encoded]);
    return { head, value, bytes: encoded.length };
  }

  /** The value of a row that is gone. */
  tombstone(loadedAt: string): string {
    return this.#head + GONE + loadedAt;
  }

  /** Null for what is absent, also by its version. Throws what the codec throws. */
  decode(value: Buffer | null): Row | null {
    return this.#isOurs(value) && !isGone(value) ? this.#codec.decode(value.subarray(ROW_AT)) : null;
  }

  /** As `decode`, with what the head tells. */
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

function isGone(value: Buffer): boolean {
  return value.toString('latin1', HASH_AT, LOADED_AT) === GONE;
}

/** Whether a row of the first head has a value, of the same format and version as that of the second. */
export function hasValueLike(first: string, second: string): boolean {
  return first.slice(0, HASH_AT) === second.slice(0, HASH_AT) && first.slice(HASH_AT) !== GONE;
}
