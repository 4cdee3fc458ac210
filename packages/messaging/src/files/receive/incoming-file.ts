/** A file read by one receiver, perhaps while it is still written. */
import type { Resolved } from '@mortise/redis';
import { Readable } from 'node:stream';
import { ArgumentTypeError, disposable, LeaseLostError } from '@mortise/redis';
import { FileForgottenError, FileUnreadableError } from '../errors.js';
import { ChunkReader } from './chunk-reader.js';
import type { FileId, FilesContext } from '../context.js';
import { gunzip } from './gunzip.js';
import { LineReader } from './line-reader.js';
import { MemberEnds } from './member-ends.js';
import type { LineOptions, ReadOptions } from '../options.js';
import { resolveLineOptions, resolveReadOptions } from '../options.js';
import type { Reading, ReceiverLease } from './reading.js';
import type { Completed } from '../completion.js';
import { Completion } from '../completion.js';
import { wholeLines } from './whole-lines.js';

/** Acking each chunk would cost Redis a tenth more. */
const ACK_CHUNKS = 2;

/** A file of `FileReceiver.files`. Read it once, by `blocks`, `lines` or `stream`; then call `done` or `fail`. */
export class IncomingFile implements FileId {
  readonly name: string;
  readonly number: number;
  readonly epoch: string;
  /**
   * A unique id of the file: 12 random characters from the `send` that listed it, which later writers keep. A file number, in
   * contrast, is reused after a failover has lost its file.
   */
  readonly fileId: string;
  /** The receiver's lease. Do not store results of the file elsewhere after `until`: another process may then read the file. */
  readonly lease: ReceiverLease;
  /**
   * The offset after the last delivered byte. For inflated gzip, it counts bytes of text. After a restart, reading continues at
   * the last ack: store a checkpoint with your results to know which bytes were handled.
   */
  offset = 0;
  readonly #context: FilesContext;
  readonly #reading: Reading;
  #reader: ChunkReader | undefined;
  #memberEnds: MemberEnds | undefined;
  #acking: Promise<void> | undefined;
  /** The offset of an ack that waits for the one before. */
  #ackTo: number | undefined;
  #ackedTo = 0;
  #askedTo = 0;
  #ackFailure: { readonly reason: unknown } | undefined;
  #isRead = false;
  #isAtEnd = false;
  #isFinished = false;

  constructor(context: FilesContext, reading: Reading, lease: ReceiverLease) {
    this.name = reading.name;
    this.number = reading.number;
    this.epoch = reading.epoch;
    this.fileId = reading.fileId;
    this.lease = lease;
    this.#context = context;
    this.#reading = reading;
  }

  /** The SHA-256 of the sent file, in hex; undefined until its end was read. */
  get sha256(): string | undefined {
    return this.#reader?.sha256;
  }

  /** Whether `done` or `fail` has taken effect. */
  get isFinished(): boolean {
    return this.#isFinished;
  }

  /**
   * The content in blocks of at most a chunk, from the receiver's last ack on. Waits for bytes that are not written yet. Unless
   * `autoAck` is false, a request for a block acks the blocks before it. The ack is sent with each second chunk, at the end,
   * and after a wait of 5 ms. Reading doesn't wait for these acks. A CRC checks every byte. Each chunk costs one GET, sent up
   * to two chunks ahead, and each second chunk one script. Throws ERR_FILE_ABORTED, ERR_FILE_CORRUPT, ERR_FILE_EXPIRED,
   * ERR_LEASE_LOST; for gzip also ERR_GZIP_MEMBER_TOO_LARGE and, if plain bytes were acked before, ERR_FILE_NOT_RESUMABLE; with
   * `wholeLines` also ERR_LINE_TOO_LONG.
   */
  blocks(options: ReadOptions = {}): AsyncGenerator<Buffer, void, void> {
    return disposable(this.#blocks(resolveReadOptions(this.name, options)));
  }

  async *#blocks(limits: Resolved<ReadOptions>): AsyncGenerator<Buffer, void, void> {
    if (this.#isRead) throw new ArgumentTypeError(`file "${this.name}" is being read, or was`);
    this.#isRead = true;
    const reader = await ChunkReader.open(this.#context, this.#reading);
    this.#reader = reader;
    if (limits.autoAck) reader.onIdle = () => this.#ackSoon();
    reader.onRewind = () => {
      this.#askedTo = 0;
    };
    try {
      for await (const block of this.#content(reader, limits)) {
        this.offset += block.length;
        yield block;
        if (this.#ackFailure) throw this.#ackFailure.reason;
        this.#pin();
        if (limits.autoAck && reader.unackedChunks(this.#ackable()) >= ACK_CHUNKS) this.#ackSoon();
      }
      await this.#acking;
      if (limits.autoAck && this.offset > this.#ackedTo) await this.ack();
      this.#isAtEnd = true;
    } finally {
      reader.onIdle = () => undefined;
      this.#ackTo = undefined;
      reader.close();
    }
  }

  /**
   * The lines as UTF-8 without their line feeds. A last line without a line feed also counts. Acks, costs and errors as for
   * `blocks` with `wholeLines`. A line that you keep may hold about a KiB around it in memory.
   */
  lines(options: LineOptions = {}): AsyncIterableIterator<string> {
    const { blocks, isUniversal } = resolveLineOptions(options);
    return new LineReader(this.blocks(blocks), this, isUniversal);
  }

  /**
   * The content as a stream of bytes. Acks, costs and errors are those of `blocks`: a block is acked when the stream takes the
   * next one.
   */
  stream(options: ReadOptions = {}): Readable {
    return Readable.from(this.blocks(options), { objectMode: false });
  }

  /**
   * Acks the delivered bytes, up to `offset`: a restarted receiver continues there, and the sender gets room. With `autoAck:
   * false`, call this before a whole window is delivered. Repeating the call is safe. One script.
   */
  async ack(): Promise<void> {
    if (!this.#reader) throw new ArgumentTypeError(`file "${this.name}" was not read`);
    await this.#ackUpTo(this.#reader, this.offset);
  }

  /**
   * Marks the file as handled by this receiver; it must be read to its end (TypeError otherwise). When all receivers are done,
   * the file is deleted. Repeating the call is safe. Three or four round trips. Throws ERR_LEASE_LOST, and ERR_FILE_FORGOTTEN
   * if a failover has lost the file's entry. The file may then come again, with the same `fileId`.
   */
  async done(): Promise<void> {
    if (!this.#isAtEnd)
      throw new ArgumentTypeError(`file "${this.name}" was not read to its end: fail() gives it up`);
    if ((await this.#finish()) === 'forgotten') throw new FileForgottenError(this.name);
  }

  /**
   * Gives the file up for this receiver, however much was read. The file does not come again. Costs and errors as for `done`.
   */
  async fail(): Promise<void> {
    await this.#finish();
  }

  async #finish(): Promise<Completed> {
    const { receiver, token } = this.#reading;
    const completed = await new Completion(this.#context).finish(this, [receiver], token);
    if (completed === 'lost')
      throw new LeaseLostError(`receiver "${receiver}" of channel "${this.#context.channel}"`);
    this.#isFinished = true;
    return completed;
  }

  async *#content(reader: ChunkReader, limits: Resolved<ReadOptions>): AsyncGenerator<Buffer> {
    const blocks = limits.gunzip ? this.#inflated(reader) : this.#plain(reader);
    if (!limits.wholeLines) {
      yield* blocks;
      return;
    }
    // A line must fit into the window, with the chunks in which it begins and ends.
    const maxLineBytes = Math.min(limits.maxLineBytes, reader.leewayBytes);
    yield* wholeLines(blocks, this.name, maxLineBytes);
  }

  async *#plain(reader: ChunkReader): AsyncGenerator<Buffer> {
    this.offset = reader.startOffset;
    let isFirst = true;
    for await (const block of reader.blocks()) {
      if (isFirst) this.offset = reader.startOffset;
      isFirst = false;
      yield block;
    }
  }

  async *#inflated(reader: ChunkReader): AsyncGenerator<Buffer> {
    if (reader.isAfterStart && !reader.acked)
      throw new FileUnreadableError('ERR_FILE_NOT_RESUMABLE', this.name);
    const { textBytes, textBase } = reader.acked ?? { textBytes: 0, textBase: 0 };
    let skip = textBytes - textBase;
    this.offset = textBytes;
    reader.pin(0);
    const onMember = (endsAt: number, text: number): void => {
      this.#memberEndsOf(reader).add({ offset: reader.startOffset + endsAt, text: textBase + text });
    };
    for await (const block of gunzip(reader.blocks(), this.name, onMember)) {
      this.#memberEndsOf(reader);
      const text = block.subarray(Math.min(skip, block.length));
      skip -= block.length - text.length;
      if (text.length > 0) yield text;
    }
  }

  /** The first chunk tells where reading began. */
  #memberEndsOf(reader: ChunkReader): MemberEnds {
    this.#memberEnds ??= new MemberEnds({ offset: reader.startOffset, text: reader.acked?.textBase ?? 0 });
    return this.#memberEnds;
  }

  /** The last byte at which a cursor can stand: for gzip, the end of a member. */
  #ackable(): number {
    return this.#memberEnds ? this.#memberEnds.endBefore(this.offset).offset : this.offset;
  }

  #pin(): void {
    if (this.#memberEnds) this.#reader!.pin(this.#ackable());
  }

  /** Acks the delivered bytes. Acks that are due during another one are combined into one. */
  #ackSoon(): void {
    // A wake-up may only report that these bytes were freed.
    if (this.offset <= this.#askedTo) return;
    this.#askedTo = this.offset;
    this.#ackTo = this.offset;
    this.#acking ??= this.#ackWanted().finally(() => {
      this.#acking = undefined;
    });
  }

  async #ackWanted(): Promise<void> {
    try {
      while (this.#ackTo !== undefined) {
        const offset = this.#ackTo;
        this.#ackTo = undefined;
        await this.#ackUpTo(this.#reader!, offset);
      }
    } catch (reason) {
      this.#ackFailure = { reason };
    }
  }

  async #ackUpTo(reader: ChunkReader, offset: number): Promise<void> {
    const members = this.#memberEnds;
    if (members) {
      const end = members.endBefore(offset);
      await reader.ack(end.offset, { textBytes: offset, textBase: end.text });
      members.forget(end);
    } else await reader.ack(offset);
    this.#ackedTo = offset;
  }
}
