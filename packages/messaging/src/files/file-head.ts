/**
 * The head of a file is a HASH: `n` chunks are committed, those below `freed` are gone; `bytes` of the file, `stored` with their headers,
 * `freedBytes` of these are gone; `crc` of the file so far; `state` open, closed or aborted, `detail` then its SHA-256 or the
 * reason; `token`, `holder` and `lease` (its end, ms) of the writer; `segments`, `<token>@<chunk>` joined by commas: which writer has written
 * from which chunk on; `chunkBytes`, `windowBytes`; and for each receiver that has come, `t:<receiver>`, the token of its lease, and
 * `g:<receiver>`, how many bytes of inflated text it has acked, and how many of them lie before its cursor: `<acked>:<before>`.
 */
import type { RedisClient } from '@mortise/redis';
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
  readonly segments: string;
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
  'segments',
] as const;

/** The head of a file; undefined when there is none. One round trip. */
export async function readHead(redis: RedisClient, keys: FileKeys): Promise<FileHead | undefined> {
  const values = (await redis.call('hmget', [keys.file, ...FIELDS])) as (string | null)[];
  const [chunks, freed, bytes, stored, freedBytes, crc, token, state, detail, segments] = values;
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
    segments: segments ?? '',
  };
}

/** The keys of the chunks from one index up to another, by the writers that wrote them. */
export function chunkKeys(keys: FileKeys, segments: string, from: number, to: number): string[] {
  const writers = segments.split(',').map((segment) => segment.split('@').map(Number) as [number, number]);
  const found: string[] = [];
  let writer = 0;
  for (let index = from; index < to; index += 1) {
    while (writer + 1 < writers.length && writers[writer + 1]![1] <= index) writer += 1;
    found.push(keys.chunk(writers[writer]![0], index));
  }
  return found;
}
