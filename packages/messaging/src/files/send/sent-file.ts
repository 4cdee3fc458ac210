import type { FileId } from '../context.js';

/** A file that was sent. */
export interface SentFile extends FileId {
  /** The name for receivers, with which the file was listed. */
  readonly name: string;
  readonly id: string;
  readonly bytes: number;
  /** SHA-256 of the whole file, in hex. Empty if it was sent before. */
  readonly sha256: string;
  /** Whether the file was sent before under this id; then nothing was sent. */
  readonly isDuplicate: boolean;
  /** The number of bytes that an earlier `send` had sent, after which this one continued. */
  readonly resumedAt: number;
}

/** A file to send. Its `fileId` applies if the file is not listed yet. */
export interface WantedFile extends Pick<FileId, 'fileId'> {
  readonly name: string;
  readonly id: string;
  /** Whether the caller gave the id: then the channel records the sent file. */
  readonly isNamed: boolean;
  /** The bytes of the budget that it needs. */
  readonly reserve: number;
}
