/**
 * Undoes gzip, member by member, and tells where each ends: a reader can go on there, and nowhere else. Node inflates; the headers and trailers of
 * members are read here, since its own gunzip goes from one to the next in silence, and passes over bytes behind the last one that
 * are no member, which is what a damaged header looks like.
 */
import { crc32, createInflateRaw } from 'node:zlib';
import { FileUnreadableError } from '../errors.js';

const BLOCK_BYTES = 256 * 1_024;
/** A header has 10 bytes, and what its flags say; a name or a comment that is longer than this is damage. */
const MAX_HEADER_BYTES = 1_048_576;
const TRAILER_BYTES = 8;
const HAS_CRC = 2;
const HAS_EXTRA = 4;
const HAS_NAME = 8;
const HAS_COMMENT = 16;
const RESERVED = 0xe0;

/** Both counted from where reading began. */
export type OnMember = (endsAt: number, textBytes: number) => void;

/** The inflated blocks. Throws ERR_FILE_CORRUPT for what is truncated or damaged; what the parts throw passes through. */
export async function* gunzip(
  parts: AsyncIterable<Buffer>,
  name: string,
  onMember: OnMember = () => undefined,
): AsyncGenerator<Buffer> {
  const input = new GzipInput(parts, name);
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
      if (trailer.readUInt32LE(0) !== crc)
        throw new FileUnreadableError('ERR_FILE_CORRUPT', name, { problem: 'the CRC of its text is wrong' });
      if (trailer.readUInt32LE(4) !== memberBytes % 2 ** 32) {
        throw new FileUnreadableError('ERR_FILE_CORRUPT', name, {
          problem: 'the length of its text is wrong',
        });
      }
      textBytes += memberBytes;
      onMember(input.bytes, textBytes);
    }
  } finally {
    await input.end();
  }
}

/** The text of one member, whose compressed data is next in the input; then what is behind it is. */
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
      // Called when the piece is used up, or the data have ended in it.
      const error = await new Promise((resolve) => inflate.write(piece, resolve));
      if (error) return;
      const rest = fed - inflate.bytesWritten;
      if (rest > 0) {
        input.giveBack(piece.subarray(piece.length - rest));
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

/** The compressed bytes, taken as pieces of any size or as so many. */
class GzipInput {
  /** That were taken. */
  bytes = 0;
  readonly #parts: AsyncIterator<Buffer>;
  readonly #name: string;
  #rest: Buffer = Buffer.alloc(0);

  constructor(parts: AsyncIterable<Buffer>, name: string) {
    this.#parts = parts[Symbol.asyncIterator]();
    this.#name = name;
  }

  async hasMore(): Promise<boolean> {
    while (this.#rest.length === 0) {
      const { value, done } = await this.#parts.next();
      if (done) return false;
      this.#rest = value;
    }
    return true;
  }

  /** What is there, and something at least; undefined at the end. */
  async piece(): Promise<Buffer | undefined> {
    if (!(await this.hasMore())) return undefined;
    const piece = this.#rest;
    this.#rest = piece.subarray(piece.length);
    this.bytes += piece.length;
    return piece;
  }

  /** The last bytes of the last piece. */
  giveBack(rest: Buffer): void {
    this.#rest = rest;
    this.bytes -= rest.length;
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

  /** Passes over the header of a member. */
  async header(isFirst: boolean): Promise<void> {
    const seen = [await this.take(3)];
    const [first, second, method] = seen[0]!;
    if (first !== 0x1f || second !== 0x8b) {
      const problem = isFirst ? 'it is no gzip' : 'it has bytes behind its last member that are no gzip';
      throw new FileUnreadableError('ERR_FILE_CORRUPT', this.#name, { problem });
    }
    if (method !== 8)
      throw new FileUnreadableError('ERR_FILE_CORRUPT', this.#name, {
        problem: 'its compression is unknown',
      });
    seen.push(await this.take(7));
    const flags = seen[1]![0]!;
    if (flags & RESERVED)
      throw new FileUnreadableError('ERR_FILE_CORRUPT', this.#name, {
        problem: 'the header of a member is damaged',
      });
    if (flags & HAS_EXTRA) {
      const length = await this.take(2);
      seen.push(length, await this.take(length.readUInt16LE(0)));
    }
    if (flags & HAS_NAME) seen.push(await this.#text());
    if (flags & HAS_COMMENT) seen.push(await this.#text());
    if (!(flags & HAS_CRC)) return;
    const crc = crc32(Buffer.concat(seen)) & 0xffff;
    if ((await this.take(2)).readUInt16LE(0) !== crc) {
      throw new FileUnreadableError('ERR_FILE_CORRUPT', this.#name, {
        problem: 'the header of a member is damaged',
      });
    }
  }

  /** Up to a zero, with it. */
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
    throw new FileUnreadableError('ERR_FILE_CORRUPT', this.#name, {
      problem: 'the header of a member is damaged',
    });
  }

  /** What Node's zlib says of data, as ours. */
  errorOf(error: unknown): unknown {
    const { code, message } = error as { code?: unknown; message: string };
    if (typeof code !== 'string' || !code.startsWith('Z_')) return error;
    return code === 'Z_BUF_ERROR'
      ? this.#truncated()
      : new FileUnreadableError('ERR_FILE_CORRUPT', this.#name, { problem: message });
  }

  async end(): Promise<void> {
    await this.#parts.return?.();
  }

  #truncated(): FileUnreadableError {
    return new FileUnreadableError('ERR_FILE_CORRUPT', this.#name, { problem: 'it is truncated' });
  }
}
