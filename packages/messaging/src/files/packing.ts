import { bytesOf } from './chunk-filler.js';
import { gunzip } from './gunzip.js';
import { gzipMembers } from './gzip-members.js';

/** How a source becomes a file: as it is; compressed; inflated first, and compressed again. */
export type Packing = 'plain' | 'gzip' | 'gzip again';

/** What `gzip` of `send` makes of a source, by the name that it was given. */
export function packingOf(isGzip: boolean | undefined, given: string): Packing {
  if (!isGzip) return 'plain';
  return given.endsWith('.gz') ? 'gzip again' : 'gzip';
}

/** `onEnd`, of what is compressed: all of the source is read, and what depends on where that has ended is not made yet. */
export function packed(
  plain: AsyncIterable<Uint8Array | string>,
  packing: Packing,
  name: string,
  memberBytes: number,
  onEnd?: () => Promise<unknown>,
): AsyncIterable<Uint8Array | string> {
  if (packing === 'plain') return plain;
  return gzipMembers(packing === 'gzip' ? plain : gunzip(bytesOf(plain), name), memberBytes, onEnd);
}
