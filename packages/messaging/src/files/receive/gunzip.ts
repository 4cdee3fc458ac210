/**
 * Inflates gzip member by member, and reports where each ends: a reader can resume only there. Node inflates. This file
 * reads the headers and trailers of members, since Node's gunzip does not report members, and ignores trailing bytes that
 * are not a member, as a damaged header would be.
 */
import { crc32, createInflateRaw } from 'node:zlib';
import { FileUnreadableError } from '../errors.js';

const BLOCK_BYTES = 256 * 1_024;
/** A header has 10 bytes, and the fields announced by its flags. A longer name or comment counts as damage. */
const MAX_HEADER_BYTES = 1_048_576;
const TRAILER_BYTES = 8;
const HAS_CRC = 2;
const HAS_EXTRA = 4;
const HAS_NAME = 8;
const HAS_COMMENT = 16;
const RESERVED = 0xe0;
const DAMAGED_HEADER = 'the header of a member is damaged';

/** Both counted from where reading began. */
export type OnMember = (endsAt: number, textBytes: number) => void;

/** The inflated blocks. Throws ERR_FILE_CORRUPT for truncated or damaged gzip. Errors of the input pass through. */
export async function* gunzip(
  source: AsyncIterable<Buffer>,
  name: string,
  onMember: OnMember = () => undefined,
): AsyncGenerator<Buffer> {
  const input = new GzipInput(source, name);
  let textBytes = 0;
  try {
    for (let isFirst = true; await input.hasMore(); isFirst = false) {
      await input.header(isFirst);
      let crc = 0;
      let memberBytes = 0;
      for await (const block of inflated(input)) {
        crc = crc32(block, crc);
        memberBytes += block.length;
        yield block;
      }
      const trailer = await input.take(TRAILER_BYTES);
      if (trailer.readUInt32LE(0) !== crc) throw corrupt(name, 'the CRC of its text is wrong');
      if (trailer.readUInt32LE(4) !== memberBytes % 2 ** 32) {
        throw corrupt(name, 'the length of its text is wrong');
      }
      textBytes += memberBytes;
      onMember(input.bytes, textBytes);
    }
  } finally {
    await input.end();
  }
}

/** The text of a member whose compressed data is next in the input. Afterwards its trailer is next. */
async function* inflated(input: GzipInput): AsyncGenerator<Buffer> {
  const inflate = createInflateRaw({ chunkSize: BLOCK_BYTES });
  let fed = 0;
  const feed = async (): Promise<void> => {
    for (;;) {
      const piece = await input.piece();
      if (!piece) {
        inflate.end();
        return;
      }
      fed += piece.length;
      // Called when the piece is used up, or the data has ended in it.
      const error = await new Promise((resolve) => inflate.write(piece, resolve));
      if (error) return;
      const unused = fed - inflate.bytesWritten;
      if (unused > 0) {
        input.giveBack(piece.subarray(piece.length - unused));
        return;
      }
    }
  };
  const feeding = feed().catch((error: Error) => inflate.destroy(error));
  try {
    yield* inflate as AsyncIterable<Buffer>;
    await feeding;
  } catch (error) {
    throw input.errorOf(error);
  }
}

/** The compressed bytes, as pieces of any size or by number. */
class GzipInput {
  /** Number of bytes taken. */
  bytes = 0;
  readonly #source: AsyncIterator<Buffer>;
  readonly #name: string;
  #unread: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>, name: string) {
    this.#source = source[Symbol.asyncIterator]();
    this.#name = name;
  }

  async hasMore(): Promise<boolean> {
    while (this.#unread.length === 0) {
      const { value, done } = await this.#source.next();
      if (done) return false;
      this.#unread = value;
    }
    return true;
  }

  /** The next bytes, at least one; undefined at the end. */
  async piece(): Promise<Buffer | undefined> {
    if (!(await this.hasMore())) return undefined;
    const piece = this.#unread;
    this.#unread = piece.subarray(piece.length);
    this.bytes += piece.length;
    return piece;
  }

  /** Returns the last bytes of the last piece. */
  giveBack(bytes: Buffer): void {
    this.#unread = bytes;
    this.bytes -= bytes.length;
  }

  async take(count: number): Promise<Buffer> {
    const taken: Buffer[] = [];
    for (let left = count; left > 0;) {
      const piece = await this.piece();
      if (!piece) throw this.#truncated();
      if (piece.length > left) this.giveBack(piece.subarray(left));
      taken.push(piece.subarray(0, left));
      left -= Math.min(left, piece.length);
    }
    return Buffer.concat(taken);
  }

  /** Skips the header of a member. */
  async header(isFirst: boolean): Promise<void> {
    const seen = [await this.take(3)];
    const [first, second, method] = seen[0]!;
    if (first !== 0x1f || second !== 0x8b) {
      const problem = isFirst ? 'it is not gzip' : 'it has bytes after its last member that are not gzip';
      throw corrupt(this.#name, problem);
    }
    if (method !== 8) throw corrupt(this.#name, 'its compression is unknown');
    seen.push(await this.take(7));
    const flags = seen[1]![0]!;
    if (flags & RESERVED) throw corrupt(this.#name, DAMAGED_HEADER);
    if (flags & HAS_EXTRA) {
      const length = await this.take(2);
      seen.push(length, await this.take(length.readUInt16LE(0)));
    }
    if (flags & HAS_NAME) seen.push(await this.#text());
    if (flags & HAS_COMMENT) seen.push(await this.#text());
    if (!(flags & HAS_CRC)) return;
    const crc = crc32(Buffer.concat(seen)) & 0xffff;
    if ((await this.take(2)).readUInt16LE(0) !== crc) throw corrupt(this.#name, DAMAGED_HEADER);
  }

  /** Up to and including a zero byte. */
  async #text(): Promise<Buffer> {
    const seen: Buffer[] = [];
    for (let bytes = 0; bytes < MAX_HEADER_BYTES;) {
      const piece = await this.piece();
      if (!piece) throw this.#truncated();
      const end = piece.indexOf(0);
      seen.push(end < 0 ? piece : piece.subarray(0, end + 1));
      if (end >= 0) {
        this.giveBack(piece.subarray(end + 1));
        return Buffer.concat(seen);
      }
      bytes += piece.length;
    }
    throw corrupt(this.#name, DAMAGED_HEADER);
  }

  /** Turns an error of Node's zlib into ERR_FILE_CORRUPT; others stay unchanged. */
  errorOf(error: unknown): unknown {
    const { code, message } = error as { code?: unknown; message: string };
    if (typeof code !== 'string' || !code.startsWith('Z_')) return error;
    return code === 'Z_BUF_ERROR' ? this.#truncated() : corrupt(this.#name, message);
  }

  async end(): Promise<void> {
    await this.#source.return?.();
  }

  #truncated(): FileUnreadableError {
    return corrupt(this.#name, 'it is truncated');
  }
}

function corrupt(name: string, problem: string): FileUnreadableError {
  return new FileUnreadableError('ERR_FILE_CORRUPT', name, { problem });
}
