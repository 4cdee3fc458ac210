/**
 * The bytes of an entry. The values of Next.js have Buffers and Maps, which the format of `node:v8` keeps and JSON does not. Its
 * header has a version: bytes of a newer one read as absent, as those of another program do.
 */
import { deserialize, serialize } from 'node:v8';
import { compress, decompress } from '../codec.js';
import type { NextCacheContext } from './options.js';

/** A stored entry. */
export interface Page {
  /** The token that was the latest before the value was rendered or fetched. */
  readonly seq: number;
  readonly tags: readonly string[];
  readonly lastModified: number;
  readonly cacheControl: NextCacheContext['cacheControl'];
  readonly value: unknown;
}

const PLAIN = 1;
const COMPRESSED = 2;
/** As entries are at most 64 MiB before they are compressed. */
const MAX_BYTES = 67_108_864;

/** Throws for a value that cannot be cloned. */
export function encodePage(page: Page, compressFromBytes: number): Buffer {
  const bytes = serialize(page);
  const isCompressed = bytes.length >= compressFromBytes;
  return Buffer.concat([
    Buffer.from([isCompressed ? COMPRESSED : PLAIN]),
    isCompressed ? compress(bytes) : bytes,
  ]);
}

/** Returns undefined for bytes that it cannot read. */
export function decodePage(bytes: Buffer): Page | undefined {
  const rest = bytes.subarray(1);
  try {
    if (bytes[0] === PLAIN) return deserialize(rest) as Page;
    if (bytes[0] === COMPRESSED) return deserialize(decompress(rest, MAX_BYTES)) as Page;
  } catch {
    // Of a newer version of Node, or cut.
  }
  return undefined;
}
