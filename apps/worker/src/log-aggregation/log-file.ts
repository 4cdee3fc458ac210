import type { MalformedSample, Reason } from './malformed-lines.js';

/** Nobody else counts the file before `until`, ms since 1970 by the clock of Redis; `renew` moves that on by `leaseMs`, or rejects. */
export interface FileLease {
  readonly until: number;
  readonly leaseMs: number;
  renew(): Promise<unknown>;
}

/** A file as it comes to a worker: one that @mortise/messaging receives, or anything else that has blocks. */
export interface LogFile {
  /** Of this content: a file that is rotated and written anew has another one. */
  readonly id: string;
  /** Where the first block begins, in bytes of the text, after gzip is undone. Asked for when that block, or the end, has come. */
  readonly offset: number;
  /** The text in blocks of any size, as it is written; rejects for a file that broke off. */
  blocks(): AsyncIterable<Uint8Array>;
  /** Everything before this offset is counted: whoever reads the file next begins there, or before. */
  ack(offset: number): Promise<unknown>;
  /** All of it is counted. */
  done(): Promise<unknown>;
  /**
   * It never comes again once it is `done`, so that what was kept to know how far it is counted goes away after `forgetMs`. Default false: it is
   * kept for `markerMs`.
   */
  readonly isOnce?: boolean;
  /**
   * Of whoever counts it, where another worker takes over from one that was silent for too long: a checkpoint that comes later is refused until it is
   * renewed, so that one which stood still does not count what was counted since, and forgotten. Default: nobody else counts it.
   */
  readonly lease?: FileLease;
  /** Whether `fail` with that error means that it never comes again. Default: it may. */
  isGivenUp?(error: unknown): boolean;
  /** It cannot be counted; the error says why, and so whether it may be later. */
  fail(error: unknown): Promise<unknown>;
}

/** What became of a file. */
export interface FileReport {
  readonly id: string;
  /** Where it ended. */
  readonly bytes: number;
  /** Counted now. */
  readonly lines: number;
  /** Read now, and counted before: the file was begun by somebody who didn't end it. */
  readonly repeated: number;
  readonly malformed: number;
  readonly malformedOf: Readonly<Record<Reason, number>>;
  readonly samples: readonly MalformedSample[];
}
