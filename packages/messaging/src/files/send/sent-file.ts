import type { FileId } from '../context.js';

/** A file that was sent. */
export interface SentFile {
  /** That receivers see: of who has listed it first. */
  readonly name: string;
  readonly id: string;
  /** Its place among the files of the channel, from 1. */
  readonly number: number;
  /** Of the channel: another one when it was forgotten and made anew, and numbers begin at 1 again. */
  readonly epoch: string;
  /** No other file's, as `IncomingFile` has it. Empty when it had been sent before. */
  readonly fileId: string;
  readonly bytes: number;
  /** Of the whole file, in hex. Empty when it had been sent before. */
  readonly sha256: string;
  /** It had been sent before under this id. Nothing was sent. */
  readonly isDuplicate: boolean;
  /** How many bytes had been sent by an earlier `send`, on which this one went on. */
  readonly resumedAt: number;
}

/** What is to be sent; its `fileId` is drawn for when it is not listed yet. */
export interface WantedFile extends Pick<FileId, 'fileId'> {
  readonly name: string;
  readonly id: string;
  /** The caller has given the id: what was sent under it is kept. */
  readonly isNamed: boolean;
  /** Bytes of the budget. */
  readonly reserve: number;
}
