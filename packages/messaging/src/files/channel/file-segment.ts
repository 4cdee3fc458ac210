/** The bytes of a file from an offset on, which `FileChannel` reads for a receiver. */
import type { Loop } from '@mortise/redis';
import { ChunkReader } from '../receive/chunk-reader.js';
import { leaseRenewal } from '../receive/lease-receiver.js';
import type { FilesContext } from '../context.js';
import type { Reading } from '../receive/reading.js';

export class FileSegment {
  readonly #reader: ChunkReader;
  readonly #renewal: Loop;

  private constructor(reader: ChunkReader, renewal: Loop) {
    this.#reader = reader;
    this.#renewal = renewal;
  }

  /**
   * Opens a file, and calls `renew` each third of the lease until the segment is closed. One round trip, and the subscription.
   * Waits for a file that does not exist yet.
   */
  static async open(
    context: FilesContext,
    reading: Reading,
    leaseMs: number,
    renew: () => Promise<unknown>,
  ): Promise<FileSegment> {
    const reader = await ChunkReader.open(context, reading);
    const renewal = leaseRenewal('mortise file segment', leaseMs, renew);
    renewal.start();
    return new FileSegment(reader, renewal);
  }

  /** The offset of its first byte in the file, known with the first block. */
  get startOffset(): number {
    return this.#reader.startOffset;
  }

  /** SHA-256 of the whole file, in hex; known when its end was read. */
  get sha256(): string | undefined {
    return this.#reader.sha256;
  }

  /**
   * The bytes to the end of the file; waits for bytes that are not written yet. Call it once. One GET for each chunk.
   * Throws ERR_FILE_ABORTED, ERR_FILE_CORRUPT, ERR_FILE_EXPIRED, and the signal's reason.
   */
  blocks(): AsyncGenerator<Buffer> {
    return this.#reader.blocks();
  }

  /** Whether an ack up to this byte would free a chunk, or nothing can be read at present. */
  isAckDue(offset: number): boolean {
    return this.#reader.isAckDue(offset);
  }

  /** Acks the delivered bytes before `offset`. The receiver must also have all bytes before the segment. One script. */
  async ack(offset: number): Promise<void> {
    await this.#reader.ack(offset);
  }

  async close(): Promise<void> {
    this.#reader.close();
    await this.#renewal.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
