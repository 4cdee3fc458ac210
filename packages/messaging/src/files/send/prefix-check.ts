import type { Hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { CHUNK_HEADER_BYTES } from '../chunk.js';

/** What has been read of a source: its SHA-256 in the making, and its CRC-32 as far as that was sent before. */
export class PrefixCheck {
  crc = 0;
  readonly #hash: Hash;

  constructor(hash: Hash) {
    this.#hash = hash;
  }

  add(piece: Buffer): void {
    this.crc = crc32(piece, this.crc);
    this.#hash.update(piece);
  }

  /** A chunk's own CRC is taken when it is sealed. */
  hash(chunk: Buffer): void {
    this.#hash.update(chunk.subarray(CHUNK_HEADER_BYTES));
  }
}
