/**
 * The head of a file is a HASH:
 *
 * | Field | What |
 * |---|---|
 * | `n`, `freed` | chunks that are committed; those below `freed` are gone |
 * | `bytes`, `stored`, `freedBytes` | bytes of the file; with headers; how many of the latter are gone |
 * | `crc` | CRC-32 of the file so far |
 * | `state`, `detail` | open, closed or aborted; then the SHA-256 or the reason |
 * | `token`, `holder`, `lease` | of the writer; `lease` is the end of its lease in ms |
 * | `writers` | `<token>@<chunk>` joined by commas: the writer with that token has written from that chunk on |
 * | `chunkBytes`, `windowBytes` | limits of the last writer |
 * | `t:<receiver>` | the token of the receiver's lease |
 * | `g:<receiver>` | of gzip, `<acked>:<before>`: bytes of text that it has acked, and how many of them lie before its cursor |
 */
import type { RedisClient } from '@mortise/redis';
import { callRedis } from '@mortise/redis';
import type { FileKeys } from './keys.js';

export interface FileHead {
  readonly chunks: number;
  readonly freed: number;
  readonly bytes: number;
  readonly stored: number;
  readonly freedBytes: number;
  readonly crc: number;
  readonly token: number;
  readonly state: 'open' | 'closed' | 'aborted';
  readonly detail: string;
  readonly writers: string;
}

const FIELDS = [
  'n',
  'freed',
  'bytes',
  'stored',
  'freedBytes',
  'crc',
  'token',
  'state',
  'detail',
  'writers',
] as const;

/** The head of a file; undefined for a missing file. One round trip. */
export async function readHead(redis: RedisClient, keys: FileKeys): Promise<FileHead | undefined> {
  const values = (await callRedis(redis, 'hmget', [keys.file, ...FIELDS])) as (string | null)[];
  const [chunks, freed, bytes, stored, freedBytes, crc, token, state, detail, writers] = values;
  if (state == null) return undefined;
  return {
    chunks: Number(chunks),
    freed: Number(freed),
    bytes: Number(bytes),
    stored: Number(stored),
    freedBytes: Number(freedBytes),
    crc: Number(crc),
    token: Number(token),
    state: state as FileHead['state'],
    detail: detail ?? '',
    writers: writers ?? '',
  };
}

/** The keys of the chunks between two indexes. The key of a chunk contains the token of its writer. */
export function chunkKeys(keys: FileKeys, tokens: string, from: number, to: number): string[] {
  const writers = tokens.split(',').map((writer) => writer.split('@').map(Number) as [number, number]);
  const found: string[] = [];
  let writer = 0;
  for (let index = from; index < to; index += 1) {
    while (writer + 1 < writers.length && writers[writer + 1]![1] <= index) writer += 1;
    found.push(keys.chunk(writers[writer]![0], index));
  }
  return found;
}
