/**
 * The body of an upload as a source of bytes. At any moment either the client has to send bytes, or the channel has to make room. If it does
 * nothing for too long, the upload ends: a slow upload goes on, a stalled one does not.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

import { Problem } from '../problems/problem.js';

export interface UploadLimits {
  readonly maxBytes: number;
  /** How long the client may send nothing, ms. */
  readonly stallMs: number;
  /** How long the channel may have no room, ms. */
  readonly timeoutMs: number;
  /** The expected SHA-256 of the whole, in hex. */
  readonly sha256: string | undefined;
}

/** The connection broke off before all of the body had come. */
export class BrokenOff extends Problem {
  constructor() {
    super('malformed-request', 'the body broke off');
  }
}

export class UploadBody implements AsyncIterable<Uint8Array> {
  /** The sender has asked for bytes: it has the lease of the file. */
  hasBegun = false;
  /** All of it was read, and has the expected digest. */
  isWhole = false;
  readonly #body: IncomingMessage;
  readonly #limits: UploadLimits;
  readonly #transfer: AbortController;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** `transfer` is aborted with the problem `budget-exhausted` when there is no room for too long. The caller closes it. */
  constructor(body: IncomingMessage, limits: UploadLimits, transfer: AbortController) {
    this.#body = body;
    this.#limits = limits;
    this.#transfer = transfer;
    body.once('close', this.#onClose);
    this.#awaitRoom();
  }

  /** Throws the problems `body-too-large`, `digest-mismatch` and `request-timeout`, and BrokenOff. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const { maxBytes, sha256 } = this.#limits;
    const hash = sha256 === undefined ? undefined : createHash('sha256');
    this.hasBegun = true;
    const pieces = this.#body.iterator({ destroyOnReturn: false }) as AsyncGenerator<Buffer>;
    let bytes = 0;
    try {
      for (let piece = await this.#next(pieces); piece; piece = await this.#next(pieces)) {
        bytes += piece.length;
        if (bytes > maxBytes) throw new Problem('body-too-large', undefined, { maxBytes });
        hash?.update(piece);
        yield piece;
      }
    } finally {
      // The connection is drained elsewhere, and a waiting `next` is not awaited.
      void pieces.return(undefined);
    }
    if (!this.#body.complete) throw this.#brokenOff();
    if (hash && hash.digest('hex') !== sha256) throw new Problem('digest-mismatch');
    this.isWhole = true;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#body.off('close', this.#onClose);
  }

  async #next(pieces: AsyncGenerator<Buffer>): Promise<Buffer | undefined> {
    clearTimeout(this.#timer);
    const stalled = new Promise<never>((_, reject) => {
      this.#timer = setTimeout(() => reject(new Problem('request-timeout')), this.#limits.stallMs);
    });
    try {
      const { done, value } = await Promise.race([pieces.next(), stalled]);
      return done ? undefined : value;
    } catch (error) {
      throw error instanceof Problem ? error : this.#brokenOff();
    } finally {
      clearTimeout(this.#timer);
      this.#awaitRoom();
    }
  }

  #awaitRoom(): void {
    if (this.#isClosed) return;
    const exhausted = (): void => this.#transfer.abort(new Problem('budget-exhausted'));
    this.#timer = setTimeout(exhausted, this.#limits.timeoutMs);
  }

  readonly #onClose = (): void => {
    if (!this.#body.complete) this.#brokenOff();
  };

  /** Also ends a wait for room. */
  #brokenOff(): Error {
    this.#transfer.abort(new BrokenOff());
    return this.#transfer.signal.reason as Error;
  }
}
