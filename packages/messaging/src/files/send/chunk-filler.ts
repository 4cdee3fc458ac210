/**
 * Cuts what comes from a source into chunks with room for their headers. A chunk is whole, or the source was silent for `lingerMs`, so what is
 * written slowly is seen soon.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { CHUNK_HEADER_BYTES } from '../chunk.js';

const SILENT = Symbol('silent');

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

  /** Reads so many bytes, and calls `onPiece` with each part of them. Returns how many there were. */
  async passOver(bytes: number, onPiece: (piece: Buffer) => void): Promise<number> {
    let left = bytes;
    while (left > 0 && (await this.#fill())) {
      const part = this.#piece.subarray(0, left);
      onPiece(part);
      left -= part.length;
      this.#piece = this.#piece.subarray(part.length);
    }
    return bytes - left;
  }

  /** The next chunk, of the size that it has, until it is recycled; undefined at the end. Rejects with what the source throws, and with the reason of the signal. */
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

  /** Takes a chunk back that nobody needs any more: new memory for each costs more than to fill it. */
  recycle(chunk: Buffer): void {
    this.#spare.push(chunk.buffer);
  }

  /** Ends the source early. */
  async stop(): Promise<void> {
    if (this.#isEnd) return;
    // A source that is being waited for ends when it next gives something; nobody waits for that.
    const ending = Promise.resolve(this.#source.return?.()).catch(() => undefined);
    if (!this.#pulling) await ending;
  }

  /** Gets a piece if there is none. False at the end, SILENT when there is nothing for so long. */
  async #fill(waitMs = Infinity, signal?: AbortSignal): Promise<boolean | typeof SILENT> {
    signal?.throwIfAborted();
    while (this.#piece.length === 0) {
      if (this.#isEnd) return false;
      this.#pulling ??= this.#source.next();
      const result = await within(this.#pulling, waitMs, signal);
      if (result === SILENT) return SILENT;
      this.#pulling = undefined;
      if (result.done) this.#isEnd = true;
      else this.#piece = pieceOf(result.value);
    }
    return true;
  }
}

/** A piece of a source as a Buffer, without copying it. */
export function pieceOf(value: Uint8Array | string): Buffer {
  if (typeof value === 'string') return Buffer.from(value);
  if (!(value instanceof Uint8Array)) throw new TypeError('the source must give bytes or strings');
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

async function within<Value>(
  promise: Promise<Value>,
  ms: number,
  signal: AbortSignal | undefined,
): Promise<Value | typeof SILENT> {
  if (ms === Infinity && !signal) return promise;
  const timer = new AbortController();
  let onAbort: (() => void) | undefined;
  try {
    return await Promise.race([
      promise,
      ...(ms === Infinity ? [] : [pause(ms, SILENT, { signal: timer.signal })]),
      ...(signal
        ? [
            new Promise<never>((_, reject) => {
              onAbort = () => reject(signal.reason as Error);
              signal.addEventListener('abort', onAbort, { once: true });
            }),
          ]
        : []),
    ]);
  } finally {
    timer.abort();
    if (onAbort) signal?.removeEventListener('abort', onAbort);
  }
}
