/**
 * Cuts the bytes of a source into chunks, with room for their headers. A chunk ends when it is full, or when the source was
 * silent for `lingerMs`, so that receivers soon see slowly written data.
 */
import { ArgumentTypeError, TIMED_OUT, waitFor } from '@mortise/redis';
import { CHUNK_HEADER_BYTES } from '../chunk.js';

export class ChunkFiller {
  readonly #source: AsyncIterator<Uint8Array | string>;
  readonly #chunkBytes: number;
  readonly #lingerMs: number;
  #piece: Buffer = Buffer.alloc(0);
  #pulling: Promise<IteratorResult<Uint8Array | string>> | undefined;
  #isEnd = false;
  readonly #spare: ArrayBufferLike[] = [];

  constructor(source: AsyncIterable<Uint8Array | string>, chunkBytes: number, lingerMs: number) {
    this.#source = source[Symbol.asyncIterator]();
    this.#chunkBytes = chunkBytes;
    this.#lingerMs = lingerMs;
  }

  /** Reads this many bytes, and calls `onPiece` with each piece of them. Returns the number of bytes. */
  async skipBytes(bytes: number, onPiece: (piece: Buffer) => void): Promise<number> {
    let left = bytes;
    while (left > 0 && (await this.#fill())) {
      const piece = this.#piece.subarray(0, left);
      onPiece(piece);
      left -= piece.length;
      this.#piece = this.#piece.subarray(piece.length);
    }
    return bytes - left;
  }

  /**
   * The next chunk; undefined at the end. The caller recycles it. Rejects with the source's error, and with the signal's
   * reason.
   */
  async next(signal: AbortSignal | undefined): Promise<Buffer | undefined> {
    const spare = this.#spare.pop();
    const chunk = spare ? Buffer.from(spare) : Buffer.allocUnsafeSlow(this.#chunkBytes);
    let used = CHUNK_HEADER_BYTES;
    let startedAt = 0;
    while (used < chunk.length) {
      if (this.#piece.length === 0) {
        const isEmpty = used === CHUNK_HEADER_BYTES;
        const waitMs = isEmpty ? Infinity : Math.max(0, startedAt + this.#lingerMs - performance.now());
        const found = await this.#fill(waitMs, signal);
        if (found !== true) {
          if (isEmpty) return undefined;
          break;
        }
      }
      if (used === CHUNK_HEADER_BYTES) startedAt = performance.now();
      const copied = this.#piece.copy(chunk, used);
      used += copied;
      this.#piece = this.#piece.subarray(copied);
    }
    return chunk.subarray(0, used);
  }

  /** Reuses the memory of a chunk: new memory for each chunk costs more than filling it. */
  recycle(chunk: Buffer): void {
    this.#spare.push(chunk.buffer);
  }

  /** Ends the source early. */
  async stop(): Promise<void> {
    if (this.#isEnd) return;
    // A pending read ends with the source's next piece, so this does not wait for it.
    const ending = Promise.resolve(this.#source.return?.()).catch(() => undefined);
    if (!this.#pulling) await ending;
  }

  /** Gets a piece if there is none. False at the end, TIMED_OUT if none comes within `waitMs`. */
  async #fill(waitMs = Infinity, signal?: AbortSignal): Promise<boolean | typeof TIMED_OUT> {
    signal?.throwIfAborted();
    while (this.#piece.length === 0) {
      if (this.#isEnd) return false;
      this.#pulling ??= this.#source.next();
      const result = await waitFor(this.#pulling, { waitMs, signal });
      if (result === TIMED_OUT) return TIMED_OUT;
      this.#pulling = undefined;
      if (result.done) this.#isEnd = true;
      else this.#piece = pieceOf(result.value);
    }
    return true;
  }
}

/** A piece of a source as a Buffer, without a copy. */
export function pieceOf(value: Uint8Array | string): Buffer {
  if (typeof value === 'string') return Buffer.from(value);
  if (!(value instanceof Uint8Array)) throw new ArgumentTypeError('the source must give bytes or strings');
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}
