/**
 * Sends a few chunks at once, so that the source is read while others travel, and confirms them in order. A server executes
 * the commands of one connection in the order of sending. Where that order breaks (a lost connection, a slot that moves, a
 * script that the server doesn't know yet), it refuses the chunks after the first failed one, and each is sent again after
 * the one before.
 */
import { isTransient } from '@mortise/redis';

/** One that travels, one that is filled, and a spare one. */
const AT_ONCE = 3;

export interface SealedChunk {
  readonly index: number;
  /** With the header. */
  readonly value: Buffer;
  /** Bytes of the file in it. */
  readonly bytes: number;
  /** CRC of the file up to its end. */
  readonly crc: number;
}

interface Sent extends SealedChunk {
  readonly reply: Promise<number>;
}

export interface PipelineSteps {
  /** Stores a chunk and makes it visible; may be repeated. Resolves to the script's reply. */
  readonly send: (chunk: SealedChunk) => Promise<number>;
  /** Sends a chunk until there is a reply, after the chunks before it are confirmed. */
  readonly resend: (chunk: SealedChunk) => Promise<number>;
  /** Whether the reply requires the chunk to be sent again. */
  readonly isMissing: (reply: number) => boolean;
  /** Called in the order of the chunks. If it throws, the pipeline ends. */
  readonly confirm: (chunk: SealedChunk, reply: number) => void;
  /** Called when the pipeline has ended. */
  readonly fail: (reason: unknown) => void;
}

export class ChunkPipeline {
  readonly #steps: PipelineSteps;
  #sent: Sent[] = [];
  #draining: Promise<void> | undefined;
  #failure: { readonly reason: unknown } | undefined;
  #wake: () => void = () => undefined;

  constructor(steps: PipelineSteps) {
    this.#steps = steps;
  }

  /** Sends a chunk at once. Resolves when there is room for another one. Rejects with the error that ended the pipeline. */
  async push(chunk: SealedChunk): Promise<void> {
    this.#throwIfFailed();
    const reply = this.#steps.send(chunk);
    // Awaited after the chunks before it.
    reply.catch(() => undefined);
    this.#sent.push({ ...chunk, reply });
    this.#draining ??= this.#drain();
    await this.#until(AT_ONCE - 1);
  }

  /** Resolves when all are confirmed. Rejects with the error that ended the pipeline. */
  async flush(): Promise<void> {
    await this.#until(0);
  }

  /** Resolves when no chunk is under way, whatever the outcomes. */
  async quiet(): Promise<void> {
    await Promise.allSettled(this.#sent.map(({ reply }) => reply));
    await this.#draining;
  }

  async #until(atMost: number): Promise<void> {
    while (this.#sent.length > atMost && !this.#failure) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#throwIfFailed();
  }

  #throwIfFailed(): void {
    if (this.#failure) throw this.#failure.reason;
  }

  async #drain(): Promise<void> {
    try {
      while (this.#sent.length > 0) {
        const [chunk] = this.#sent as [Sent];
        this.#steps.confirm(chunk, await this.#replyTo(chunk));
        this.#sent.shift();
        this.#wake();
      }
    } catch (reason) {
      this.#failure = { reason };
      this.#sent = [];
      this.#steps.fail(reason);
    }
    this.#draining = undefined;
    this.#wake();
  }

  async #replyTo(chunk: Sent): Promise<number> {
    try {
      const reply = await chunk.reply;
      if (!this.#steps.isMissing(reply)) return reply;
    } catch (error) {
      if (!isTransient(error)) throw error;
    }
    // The server refuses the chunks after it until it is stored.
    await Promise.allSettled(this.#sent.map(({ reply }) => reply));
    return this.#steps.resend(chunk);
  }
}
