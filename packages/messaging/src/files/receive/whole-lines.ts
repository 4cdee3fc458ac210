import { FileUnreadableError } from '../errors.js';

const LINE_FEED = 10;

/**
 * The same bytes in blocks that end with a line feed, except for the last one. Copies only lines that span two blocks.
 * Throws ERR_LINE_TOO_LONG as soon as a line has more than `maxLineBytes`, without its line feed.
 */
export async function* wholeLines(
  blocks: AsyncIterable<Buffer>,
  name: string,
  maxLineBytes: number,
): AsyncGenerator<Buffer> {
  const tooLong = (): FileUnreadableError =>
    new FileUnreadableError('ERR_LINE_TOO_LONG', name, { maxBytes: maxLineBytes });
  let carried: Buffer[] = [];
  let carriedBytes = 0;
  for await (const block of blocks) {
    const first = block.indexOf(LINE_FEED);
    if (carriedBytes + (first < 0 ? block.length : first) > maxLineBytes) throw tooLong();
    let from = 0;
    if (first >= 0 && carriedBytes > 0) {
      from = first + 1;
      yield Buffer.concat([...carried, block.subarray(0, from)], carriedBytes + from);
      carried = [];
      carriedBytes = 0;
    }
    const end = block.lastIndexOf(LINE_FEED) + 1;
    if (end > from) {
      const lines = block.subarray(from, end);
      if (hasLonger(lines, maxLineBytes)) throw tooLong();
      yield lines;
      from = end;
    }
    if (from < block.length) {
      carried.push(block.subarray(from));
      carriedBytes += block.length - from;
      if (carriedBytes > maxLineBytes) throw tooLong();
    }
  }
  if (carriedBytes > 0) yield Buffer.concat(carried, carriedBytes);
}

function hasLonger(lines: Buffer, maxLineBytes: number): boolean {
  if (lines.length - 1 <= maxLineBytes) return false;
  for (let from = 0; from < lines.length;) {
    const end = lines.indexOf(LINE_FEED, from);
    if (end - from > maxLineBytes) return true;
    from = end + 1;
  }
  return false;
}
