import type { MalformedSample, Reason } from './malformed-lines.js';

/** No other worker counts the file before `until`, ms since 1970 by the clock of Redis. `renew` extends it to `leaseMs` from now, or rejects. */
export interface FileLease {
  readonly until: number;
  readonly leaseMs: number;
  renew(): Promise<unknown>;
}

/** A file for a worker: one of a channel of @mortise/messaging, or anything else that has blocks. */
export interface LogFile {
  /** Identifies the content: a file that is rotated and written anew has another id. */
  readonly id: string;
  /** The offset of the first block, in bytes of the text, after gzip is undone. Read when that block, or the end, has come. */
  readonly offset: number;
  /** The text in blocks of any size, as it is written. The iteration rejects for a file that broke off. */
  blocks(): AsyncIterable<Uint8Array>;
  /** All lines before this offset are counted: the next reader of the file begins there, or before. */
  ack(offset: number): Promise<unknown>;
  /** The whole file is counted. */
  done(): Promise<unknown>;
  /**
   * The file never comes again once it is `done`, so its marks are removed after `forgetMs`. Default false: they are kept for `markerMs`.
   */
  readonly isOnce?: boolean;
  /**
   * The lease of the worker, if another worker takes over from one that was silent for too long. Checkpoints without a valid
   * lease are refused. So a worker that was paused does not count lines again whose marks were removed meanwhile. Default: no
   * other worker counts the file.
   */
  readonly lease?: FileLease;
  /** Whether the file never comes again after `fail` with that error. Default: it may. */
  isGivenUp?(error: unknown): boolean;
  /** The file cannot be counted. The error says why, and whether it may be counted later. */
  fail(error: unknown): Promise<unknown>;
}

/** The result of a file. */
export interface FileReport {
  readonly id: string;
  /** The offset of its end. */
  readonly bytes: number;
  /** Lines that were counted now. */
  readonly lines: number;
  /** Lines that were read now, but counted before by a worker that did not finish the file. */
  readonly repeated: number;
  readonly malformed: number;
  readonly malformedOf: Readonly<Record<Reason, number>>;
  readonly samples: readonly MalformedSample[];
}
