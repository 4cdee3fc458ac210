import type { Position } from '../chunk.js';
import { CHUNK_HEADER_BYTES } from '../chunk.js';

interface ReadChunk {
  readonly index: number;
  /** Of its first byte in the file. */
  readonly offset: number;
  readonly bytes: number;
}

/** The chunks that were read since the cursor, in order, without their bytes. */
export class ReadChunks {
  readonly #chunks: ReadChunk[] = [];

  constructor(readonly begin: Position) {}

  get isEmpty(): boolean {
    return this.#chunks.length === 0;
  }

  get last(): ReadChunk | undefined {
    return this.#chunks.at(-1);
  }

  push(chunk: ReadChunk): void {
    this.#chunks.push(chunk);
  }

  /** Drops the chunks before an index. */
  dropBefore(index: number): void {
    while (this.#chunks.length > 0 && this.#chunks[0]!.index < index) this.#chunks.shift();
  }

  /** Where an offset of the file is; after the last chunk for a later one. */
  positionOf(offset: number): Position {
    for (const { index, offset: first, bytes } of this.#chunks) {
      if (offset < first + bytes) return { chunk: index, bytes: Math.max(0, offset - first) };
    }
    const { last } = this;
    return last ? { chunk: last.index + 1, bytes: 0 } : this.begin;
  }

  /** The stored bytes, with headers, of the chunks that end after an offset. */
  storedAfter(offset: number): number {
    return this.#chunks
      .filter((chunk) => chunk.offset + chunk.bytes > offset)
      .reduce((sum, { bytes }) => sum + bytes + CHUNK_HEADER_BYTES, 0);
  }
}
