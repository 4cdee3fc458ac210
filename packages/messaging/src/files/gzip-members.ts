/**
 * Compresses a file as many small members of gzip, one after the other, which is one gzip file. A receiver can go on behind any of them. What
 * is in a member depends on the bytes only, and not on when they came: so a sender that is started again makes the same members.
 */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { pieceOf } from './chunk-filler.js';

const compress = promisify(gzip);

/** Of text in a member: the ratio is that of one large member but for about a hundredth. */
const MAX_MEMBER_BYTES = 256 * 1_024;
/** That are compressed at the same time, on the threads of Node. */
const AT_ONCE = 4;

/**
 * How much text is in a member, so that any two of them fit a window, less what is on the way, however badly they compress; by the options of the sender alone,
 * so that the next one makes the same members.
 */
export function memberBytesFor({
  windowBytes,
  chunkBytes,
}: {
  windowBytes: number;
  chunkBytes: number;
}): number {
  const room = (windowBytes - 2 * chunkBytes) / 2;
  return Math.min(MAX_MEMBER_BYTES, 2 ** Math.floor(Math.log2(room)));
}

/** `onEnd`: all of the source is read, and the last member, which alone may have less text, is not made yet. */
export async function* gzipMembers(
  source: AsyncIterable<Uint8Array | string>,
  memberBytes: number,
  onEnd?: () => Promise<unknown>,
): AsyncGenerator<Buffer> {
  const underWay: Promise<Buffer>[] = [];
  for await (const text of blocksOf(source, memberBytes, onEnd)) {
    const member = compress(text);
    // Heard when it is its turn.
    member.catch(() => undefined);
    underWay.push(member);
    if (underWay.length === AT_ONCE) yield await underWay.shift()!;
  }
  for (const member of underWay) yield await member;
}

/** Each of them of that length, but for the last one. */
async function* blocksOf(
  source: AsyncIterable<Uint8Array | string>,
  memberBytes: number,
  onEnd?: () => Promise<unknown>,
): AsyncGenerator<Buffer> {
  let block = Buffer.allocUnsafeSlow(memberBytes);
  let used = 0;
  for await (const piece of source) {
    const bytes = pieceOf(piece);
    for (let from = 0; from < bytes.length;) {
      const part = bytes.subarray(from, from + memberBytes - used);
      block.set(part, used);
      from += part.length;
      used += part.length;
      if (used === memberBytes) {
        yield block;
        block = Buffer.allocUnsafeSlow(memberBytes);
        used = 0;
      }
    }
  }
  await onEnd?.();
  if (used > 0) yield block.subarray(0, used);
}
