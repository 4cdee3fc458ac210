import type { FileId } from '../context.js';

/** A file that was sent. */
export interface SentFile {
  /** The name that receivers see: the one with which the file was listed. */
  readonly name: string;
  readonly id: string;
  /** Its place among the files of the channel, from 1. */
  readonly number: number;
  /** Of the channel. Another epoch begins when the channel was forgotten and is created again; numbers then begin at 1 again. */
  readonly epoch: string;
  /** Belongs to no other file, as `IncomingFile` has it. */
  readonly fileId: string;
  readonly bytes: number;
  /** Of the whole file, in hex. Empty when it had been sent before. */
  readonly sha256: string;
  /** It had been sent before under this id. Nothing was sent. */
  readonly isDuplicate: boolean;
  /** How many bytes an earlier `send` had sent, which this one has continued. */
  readonly resumedAt: number;
}

/** A file that is to be sent. Its `fileId` counts when the file is not listed yet. */
export interface WantedFile extends Pick<FileId, 'fileId'> {
  readonly name: string;
  readonly id: string;
  /** The caller has given the id: the channel notes what was sent under it. */
  readonly isNamed: boolean;
  /** The bytes of the budget that it needs. */
  readonly reserve: number;
}
