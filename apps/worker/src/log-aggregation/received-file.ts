import type { IncomingFile } from '@mortise/messaging/files';

import type { FileLease, LogFile } from './log-file.js';

/** Reasons that are the same when the file comes again. */
const CONTENT = new Set([
  'ERR_FILE_ABORTED',
  'ERR_FILE_CORRUPT',
  'ERR_FILE_EXPIRED',
  'ERR_FILE_NOT_RESUMABLE',
  'ERR_GZIP_MEMBER_TOO_LARGE',
]);

const NAME_CHARACTERS = 100;

/** A file of a channel of @mortise/messaging as the aggregation takes it: gzip undone by its name, acked where a line ends. */
export class ReceivedFile implements LogFile {
  /**
   * What its sender has drawn for it, which is no other file's, also when the channel, or that the file was listed, is forgotten; and what
   * fits of its name, for who reads the log.
   */
  readonly id: string;
  /** The channel remembers who is done. */
  readonly isOnce = true;
  readonly #file: IncomingFile;
  #offset: number | undefined;

  constructor(file: IncomingFile) {
    this.#file = file;
    this.id = `${file.fileId}:${file.name.slice(0, NAME_CHARACTERS)}`;
  }

  get lease(): FileLease {
    return this.#file.lease;
  }

  get offset(): number {
    return this.#offset ?? this.#file.offset;
  }

  async *blocks(): AsyncGenerator<Uint8Array> {
    for await (const block of this.#file.blocks({ autoAck: false })) {
      this.#offset ??= this.#file.offset - block.length;
      yield block;
    }
  }

  /** Where lines end within a block, less is acked than was handed out. */
  async ack(offset: number): Promise<void> {
    const handedOut = this.#file.offset;
    this.#file.offset = offset;
    const acked = this.#file.ack();
    this.#file.offset = handedOut;
    await acked;
  }

  async done(): Promise<void> {
    await this.#file.done();
  }

  /** A file whose content is the reason is given up: what is counted of it stays. Any other comes again, from what is acked on. */
  async fail(error: unknown): Promise<void> {
    if (this.isGivenUp(error)) await this.#file.fail();
  }

  isGivenUp(error: unknown): boolean {
    return CONTENT.has((error as { code?: string }).code ?? '');
  }
}
