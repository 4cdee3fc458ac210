/**
 * The bytes of a value in Redis. The script writes the first 16, because it knows the token and the time:
 *
 *
 *   0  float64  token of the lease, or of `set`
 *   8  float64  when it was stored, ms of the server
 *  16  uint8    version of this format
 *  17  uint8    flags: 1 the value is null, 2 it is compressed
 *  18  uint16   version of the values, chosen by the user
 *  20  float64  how long it is fresh, ms
 *  28  float64  how long it may be served stale after that, ms
 *  36  uint32   how long it took to load, ms
 *  40  uint8    number of tags, then for each its length (uint16) and its bytes in UTF-8
 *      the value, encoded
 *
 * Bytes of another version or of another program read as absent, and the next load replaces them.
 */
const FORMAT = 1;
const IS_NULL = 1;
const IS_COMPRESSED = 2;
const STAMP_BYTES = 16;
const HEAD_BYTES = 41;

/** A stored value and its header. */
export interface Entry {
  readonly token: number;
  readonly storedAt: number;
  readonly isNull: boolean;
  readonly isCompressed: boolean;
  readonly ttlMs: number;
  readonly staleMs: number;
  readonly loadMs: number;
  readonly tags: readonly string[];
  readonly payload: Buffer;
}

/** The part that the storing process knows. */
export type EntryBody = Omit<Entry, 'token' | 'storedAt'>;

const MAX_LOAD_MS = 2 ** 32 - 1;

/** The bytes from offset 16. */
export function encodeEntry(
  { isNull, isCompressed, ttlMs, staleMs, loadMs, tags, payload }: EntryBody,
  version: number,
): Buffer {
  const head = Buffer.alloc(HEAD_BYTES - STAMP_BYTES);
  head[0] = FORMAT;
  head[1] = (isNull ? IS_NULL : 0) + (isCompressed ? IS_COMPRESSED : 0);
  head.writeUInt16BE(version, 2);
  head.writeDoubleBE(ttlMs, 4);
  head.writeDoubleBE(staleMs, 12);
  head.writeUInt32BE(Math.min(MAX_LOAD_MS, Math.ceil(loadMs)), 20);
  head[24] = tags.length;
  if (tags.length === 0) return Buffer.concat([head, payload]);
  const names = tags.flatMap((tag) => {
    const name = Buffer.from(tag);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(name.length);
    return [length, name];
  });
  return Buffer.concat([head, ...names, payload]);
}

/** Returns undefined for bytes of another format or version. */
export function decodeEntry(bytes: Buffer, version: number): Entry | undefined {
  if (bytes.length < HEAD_BYTES || bytes[16] !== FORMAT || bytes.readUInt16BE(18) !== version)
    return undefined;
  const flags = bytes[17]!;
  const tags: string[] = [];
  let at = HEAD_BYTES;
  for (let left = bytes[40]!; left > 0; left -= 1) {
    if (at + 2 > bytes.length) return undefined;
    const end = at + 2 + bytes.readUInt16BE(at);
    if (end > bytes.length) return undefined;
    tags.push(bytes.toString('utf8', at + 2, end));
    at = end;
  }
  return {
    token: bytes.readDoubleBE(0),
    storedAt: bytes.readDoubleBE(8),
    isNull: (flags & IS_NULL) > 0,
    isCompressed: (flags & IS_COMPRESSED) > 0,
    ttlMs: bytes.readDoubleBE(20),
    staleMs: bytes.readDoubleBE(28),
    loadMs: bytes.readUInt32BE(36),
    tags,
    payload: bytes.subarray(at),
  };
}
