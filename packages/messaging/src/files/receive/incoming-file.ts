/** A file as one receiver reads it, while it may still be written. */
import { Readable } from 'node:stream';
import { LeaseLostError } from '@mortise/redis';
import { FileForgottenError, FileUnreadableError } from '../errors.js';
import { ChunkReader } from './chunk-reader.js';
import type { FilesContext } from '../context.js';
import { gunzip } from './gunzip.js';
import { LineReader } from './line-reader.js';
import { MemberEnds } from './member-ends.js';
import type { ReadLimits, ReadOptions } from '../options.js';
import { resolveReadOptions } from '../options.js';
import type { Reading } from './reading.js';
import type { ReceiverLease } from './receiver-lease.js';
import type { Completed } from '../completion.js';
import { Completion } from '../completion.js';
import { wholeLines } from './whole-lines.js';

/** An ack for each chunk would cost Redis a tenth more. */
const ACK_CHUNKS = 2;

/** From `FileReceiver.files`. It is read once, by one of `blocks`, `lines` and `stream`; then `done` or `fail`. */
export class IncomingFile {
  readonly name: string;
  /** Its place among the files of the channel, from 1. */
  readonly number: number;
  /**
   * Of the channel; another one when the channel was forgotten and made anew, and numbers begin at 1 again.
   */
  readonly epoch: string;
  /**
   * No other file's, ever: 12 characters that the `send` has drawn which listed it, kept by whoever goes on with it. A number is given again
   * when a failover of Redis has forgotten who had it.
   */
  readonly fileId: string;
  /** Of the receiver: what is stored elsewhere of the file is refused there after `until`, so that who was silent for too long does not store it beside who has read it since. */
  readonly lease: ReceiverLease;
  /**
   * Of the file, behind what was handed out last; in bytes of the inflated text where gzip is undone. After a restart reading goes on
   * at what was acked, so a checkpoint that is stored beside its results tells what was handled before.
   */
  offset = 0;
  readonly #context: FilesContext;
  readonly #reading: Reading;
  #reader: ChunkReader | undefined;
  #members: MemberEnds | undefined;
  #acking: Promise<void> | undefined;
  /** Up to where an ack is wanted that waits for the one before. */
  #ackTo: number | undefined;
  #ackedTo = 0;
  #askedTo = 0;
  #ackFailure: { readonly reason: unknown } | undefined;
  #isRead = false;
  #isAtEnd = false;
  #isSettled = false;

  constructor(context: FilesContext, reading: Reading, lease: ReceiverLease) {
    this.name = reading.name;
    this.number = reading.number;
    this.epoch = reading.epoch;
    this.fileId = reading.fileId;
    this.lease = lease;
    this.#context = context;
    this.#reading = reading;
  }

  /** The SHA-256 of the file as it was sent, in hex; undefined until its end was read. */
  get sha256(): string | undefined {
    return this.#reader?.sha256;
  }

  /** `done` or `fail` was called, and has taken effect. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  /**
   * The content in blocks of at most a chunk, from what this receiver had acked on; it waits for what is not written yet. When more is
   * asked for, what was handed out before is acked, with each second chunk, at the end, and when it has waited for 5 ms, unless `autoAck` is false; nothing
   * waits for these acks. Every byte was checked by a CRC. One GET for each chunk, two of them ahead, and a script for each second one. Throws
   * ERR_FILE_ABORTED, ERR_FILE_CORRUPT, ERR_FILE_EXPIRED, ERR_LEASE_LOST; of gzip also ERR_GZIP_MEMBER_TOO_LARGE and, when it was
   * acked as plain bytes before, ERR_FILE_NOT_RESUMABLE; with `wholeLines` also ERR_LINE_TOO_LONG.
   */
  async *blocks(options: ReadOptions = {}): AsyncGenerator<Buffer> {
    const limits = resolveReadOptions(this.name, options);
    if (this.#isRead) throw new TypeError(`file "${this.name}" is being read, or was`);
    this.#isRead = true;
    const reader = await ChunkReader.open(this.#context, this.#reading);
    this.#reader = reader;
    if (limits.autoAck) reader.onIdle = () => this.#ackSoon();
    reader.onBack = () => {
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
   * The lines without their line feeds, as UTF-8; also the last one, with or without a line feed. Acks, costs and throws as
   * `blocks` with `wholeLines`. A line that is kept for longer may keep the KiB around it in memory.
   */
  lines(options: Omit<ReadOptions, 'wholeLines'> = {}): AsyncIterableIterator<string> {
    return new LineReader(this.blocks({ ...options, wholeLines: true }), this);
  }

  /** The content as a stream of bytes; acks, costs and errors as for `blocks`. A block is acked when the next one is taken out of its buffer. */
  stream(options: ReadOptions = {}): Readable {
    return Readable.from(this.blocks(options), { objectMode: false });
  }

  /**
   * Acks what was handed out, up to `offset`: a receiver that is restarted goes on behind it, and the sender gets room. With `autoAck`
   * false it has to be called before a whole window was handed out. Repeating it is safe. One script.
   */
  async ack(): Promise<void> {
    if (!this.#reader) throw new TypeError(`file "${this.name}" was not read`);
    await this.#ackUpTo(this.#reader, this.offset);
  }

  /**
   * This receiver has handled the file, which was read to its end (TypeError otherwise). When all have, nothing is left of it. Repeating it
   * is safe. Three or four round trips. Throws ERR_LEASE_LOST; and ERR_FILE_FORGOTTEN when Redis has forgotten, as after a failover, that it was
   * listed: then it may come again, with the same `fileId`.
   */
  async done(): Promise<void> {
    if (!this.#isAtEnd)
      throw new TypeError(`file "${this.name}" was not read to its end: fail() gives it up`);
    if ((await this.#settle()) === 'forgotten') throw new FileForgottenError(this.name);
  }

  /** This receiver gives the file up, whatever it has read of it: it doesn't come again. Costs and throws as `done`. */
  async fail(): Promise<void> {
    await this.#settle();
  }

  async #settle(): Promise<Completed> {
    const { receiver, token, keepMs } = this.#reading;
    const settled = await new Completion(this.#context, keepMs).finish(this, [receiver], token);
    if (settled === 'lost')
      throw new LeaseLostError(`receiver "${receiver}" of channel "${this.#context.channel}"`);
    this.#isSettled = true;
    return settled;
  }

  async *#content(reader: ChunkReader, limits: ReadLimits): AsyncGenerator<Buffer> {
    const blocks = limits.gunzip ? this.#inflated(reader) : this.#plain(reader);
    if (!limits.wholeLines) {
      yield* blocks;
      return;
    }
    // A line has to fit the window, beside the chunks in which it begins and ends.
    const maxLineBytes = Math.min(limits.maxLineBytes, reader.leewayBytes);
    yield* wholeLines(blocks, this.name, maxLineBytes);
  }

  async *#plain(reader: ChunkReader): AsyncGenerator<Buffer> {
    this.offset = reader.startOffset;
    let isFirst = true;
    for await (const part of reader.parts()) {
      if (isFirst) this.offset = reader.startOffset;
      isFirst = false;
      yield part;
    }
  }

  async *#inflated(reader: ChunkReader): AsyncGenerator<Buffer> {
    if (reader.isBehindStart && !reader.acked)
      throw new FileUnreadableError('ERR_FILE_NOT_RESUMABLE', this.name);
    const { textBytes, textBase } = reader.acked ?? { textBytes: 0, textBase: 0 };
    let skip = textBytes - textBase;
    this.offset = textBytes;
    reader.pin(0);
    const onMember = (endsAt: number, text: number): void => {
      this.#membersOf(reader).add({ offset: reader.startOffset + endsAt, text: textBase + text });
    };
    for await (const block of gunzip(reader.parts(), this.name, onMember)) {
      this.#membersOf(reader);
      const rest = block.subarray(Math.min(skip, block.length));
      skip -= block.length - rest.length;
      if (rest.length > 0) yield rest;
    }
  }

  /** Where reading began is known with the first chunk. */
  #membersOf(reader: ChunkReader): MemberEnds {
    this.#members ??= new MemberEnds({ offset: reader.startOffset, text: reader.acked?.textBase ?? 0 });
    return this.#members;
  }

  /** A cursor can't stand behind the byte that was handed out last, but at the end of a member before it. */
  #ackable(): number {
    return this.#members ? this.#members.endBefore(this.offset).offset : this.offset;
  }

  #pin(): void {
    if (this.#members) this.#reader!.pin(this.#ackable());
  }

  /** Acks what was handed out; with those that are wanted while one is under way, by one more. */
  #ackSoon(): void {
    // What was heard meanwhile may be that this was freed.
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
    const members = this.#members;
    if (members) {
      const end = members.endBefore(offset);
      await reader.ack(end.offset, { textBytes: offset, textBase: end.text });
      members.forget(end);
    } else await reader.ack(offset);
    this.#ackedTo = offset;
  }
}
