import type { IncomingFile } from '../files/index.js';
import type { FileLease, LogFile } from './log-file.js';

/** Errors that would come again with the file. */
const CONTENT = new Set([
  'ERR_FILE_ABORTED',
  'ERR_FILE_CORRUPT',
  'ERR_FILE_EXPIRED',
  'ERR_FILE_NOT_RESUMABLE',
  'ERR_GZIP_MEMBER_TOO_LARGE',
]);

const NAME_CHARACTERS = 100;

/** A file of a channel of @mortise/messaging for the aggregation: gzip is undone by its name, and acks end with a line. */
export class ReceivedFile implements LogFile {
  /**
   * The `fileId`, which belongs to no other file, also when the channel was forgotten, or a failover has lost the file; and the beginning of its name, for
   * readers of the log.
   */
  readonly id: string;
  /** The channel remembers the receivers that are done. */
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

  /** A block may end within a line: then less is acked than was handed out. */
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

  /** Gives a file up whose content is the reason: its counted lines stay. Any other file comes again, from the last ack on. */
  async fail(error: unknown): Promise<void> {
    if (this.isGivenUp(error)) await this.#file.fail();
  }

  isGivenUp(error: unknown): boolean {
    return CONTENT.has((error as { code?: string }).code ?? '');
  }
}
