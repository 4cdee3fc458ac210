/**
 * A stored chunk: 16 bytes of header, then bytes of the file.
 *
 *   CRC-32 of the file before the chunk · CRC-32 of the file with it · offset of the chunk, 8 bytes; all big-endian
 *
 * The CRC is chained over the whole file, so one pass checks a chunk, its place, and the bytes sent before a restart.
 * Chunks have 2^n - 64 bytes: one of 2^n would take a quarter more of Redis' memory.
 */
import { crc32 } from 'node:zlib';

export const CHUNK_HEADER_BYTES = 16;

/** Writes the header of a filled chunk. Returns the CRC of the file up to its end. */
export function writeHeader(chunk: Buffer, offset: number, crcBefore: number): number {
  const crc = crc32(chunk.subarray(CHUNK_HEADER_BYTES), crcBefore);
  chunk.writeUInt32BE(crcBefore, 0);
  chunk.writeUInt32BE(crc, 4);
  chunk.writeBigUInt64BE(BigInt(offset), 8);
  return crc;
}

export interface OpenedChunk {
  readonly offset: number;
  readonly bytes: Buffer;
  readonly crcBefore: number;
  readonly crc: number;
}

/** Undefined for a damaged chunk. */
export function openChunk(chunk: Buffer): OpenedChunk | undefined {
  if (chunk.length < CHUNK_HEADER_BYTES) return undefined;
  const bytes = chunk.subarray(CHUNK_HEADER_BYTES);
  const crcBefore = chunk.readUInt32BE(0);
  const crc = chunk.readUInt32BE(4);
  if (crc32(bytes, crcBefore) !== crc) return undefined;
  return { offset: Number(chunk.readBigUInt64BE(8)), bytes, crcBefore, crc };
}

/** The position of a cursor: before byte `bytes` of chunk `chunk`. */
export interface Position {
  readonly chunk: number;
  readonly bytes: number;
}

/** More than the bytes of a chunk. */
const PER_CHUNK = 2 ** 23;

export function encodePosition({ chunk, bytes }: Position): number {
  return chunk * PER_CHUNK + bytes;
}

export function decodePosition(score: number): Position {
  return { chunk: Math.floor(score / PER_CHUNK), bytes: score % PER_CHUNK };
}
