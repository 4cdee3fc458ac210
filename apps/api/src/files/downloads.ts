import type { OutgoingHttpHeaders } from 'node:http';

import type { FileChannel, FileSegment, ListedFile } from '@mortise/messaging/files';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';

import type { Config } from '../config.js';
import { Problem } from '../problems/problem.js';
import { CONFIG, LOG } from '../tokens.js';
import { AbandonedFiles } from './abandoned-files.js';
import type { ByteRange, Extent } from './byte-range.js';
import { extentOf, parseRange } from './byte-range.js';
import { CHANNEL_OPTIONS } from './channel-options.js';
import { formatDigest } from './content-digest.js';
import { StallError, writeContent } from './content.js';
import type { FileId } from './file-id.js';
import { refOf } from './file-id.js';
import { TenantFiles } from './tenant-files.js';
import { Transfers } from './transfers.js';

/** The most bytes on their way to a client, in the buffers of two kernels: automatic acks are this many bytes later. */
const ON_ITS_WAY_BYTES = 8 * 1_024 * 1_024;

export interface Download extends FileId {
  readonly receiver: string;
  readonly waitMs: number;
  readonly autoAck: boolean;
}

/** A segment of a file that can be sent now. */
interface Opened {
  readonly segment: FileSegment;
  readonly blocks: AsyncGenerator<Buffer>;
  /** Undefined: to the end of the file, which is not known yet. */
  readonly extent: Extent | undefined;
}

@Injectable()
export class Downloads {
  readonly #ackBehindBytes: number;

  constructor(
    private readonly files: TenantFiles,
    private readonly transfers: Transfers,
    private readonly abandoned: AbandonedFiles,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOG) private readonly log: Logger,
  ) {
    // So that a sender of this API has room in any case.
    this.#ackBehindBytes = Math.min(ON_ITS_WAY_BYTES, config.FILE_WINDOW_BYTES / 4);
  }

  /**
   * Begins to send a file, or the range of the request, and resolves when the head of the answer is sent. Throws problems before that.
   */
  async begin(download: Download, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { channel } = download;
    await this.abandoned.look(channel);
    const files = this.files.current.channel(channel, CHANNEL_OPTIONS);
    const file = await files.file(refOf(download));
    if (file.state === 'aborted') {
      const reason = file.reason ?? '';
      throw new Problem('file-aborted', undefined, { file: file.name, reason });
    }
    const range = rangeOf(request, file);
    const transfer = this.transfers.open();
    const leave = (): void => {
      if (!reply.raw.writableFinished) transfer.abort(new Problem('malformed-request', 'the client left'));
    };
    reply.raw.once('close', leave);
    let opened: Opened | undefined;
    try {
      opened = await this.#open(files, download, file, range, transfer.signal);
      // The request was answered elsewhere, or the client is gone.
      if (reply.sent || transfer.signal.aborted) {
        await this.#close(transfer, opened.segment);
        return;
      }
      reply.hijack();
      const headers = {
        ...(reply.getHeaders() as OutgoingHttpHeaders),
        ...headersOf(file, opened.extent, range),
      };
      reply.raw.writeHead(range ? 206 : 200, headers);
      reply.raw.flushHeaders();
    } catch (error) {
      reply.raw.off('close', leave);
      await this.#close(transfer, opened?.segment);
      throw error;
    }
    if (request.method === 'HEAD') {
      reply.raw.end();
      await this.#close(transfer, opened.segment);
      return;
    }
    void this.#serve(download, opened, reply, transfer, request.id);
  }

  async #open(
    files: FileChannel,
    { receiver, waitMs }: Download,
    file: ListedFile,
    range: ByteRange | undefined,
    signal: AbortSignal,
  ): Promise<Opened> {
    const known = range ? extentOf(range, file.bytes) : { from: 0, end: file.bytes };
    const isAtTail =
      range !== undefined && 'from' in range && range.from === file.bytes && file.state === 'open';
    if (range && !known && !isAtTail) throw unsatisfiable(file);
    const from = range ? (known?.from ?? file.bytes) : 0;
    const segment = await files.open(receiver, file, from, signal);
    const blocks = segment.blocks();
    if (!range)
      return { segment, blocks, extent: file.state === 'closed' ? { from, end: file.bytes } : undefined };
    if (known) return { segment, blocks, extent: known };
    const first = await soon(blocks.next(), waitMs);
    if (!first || first.done) {
      await segment.close();
      throw unsatisfiable(file);
    }
    const { value } = first;
    const to = 'to' in range && range.to !== undefined ? range.to + 1 : Infinity;
    const extent = { from, end: Math.min(from + value.length, to) };
    return { segment, blocks: prepend(value, blocks), extent };
  }

  async #serve(
    { channel, autoAck }: Download,
    { segment, blocks, extent }: Opened,
    { raw: response }: FastifyReply,
    transfer: AbortController,
    reqId: string,
  ): Promise<void> {
    const { signal } = transfer;
    // The writer of a file that is followed may die.
    const watch = setInterval(() => void this.abandoned.look(channel), this.abandoned.pauseMs + 1);
    try {
      await writeContent(segment, blocks, response, {
        from: extent?.from ?? 0,
        end: extent?.end,
        timeoutMs: this.config.STREAM_TIMEOUT_MS,
        ackBehindBytes: autoAck ? this.#ackBehindBytes : undefined,
        signal,
      });
    } catch (err) {
      // The head was sent, so the client only learns that the content breaks off.
      response.destroy();
      if (!signal.aborted)
        this.log.info({ err, reqId, isStalled: err instanceof StallError }, 'a download broke off');
    } finally {
      clearInterval(watch);
      await this.#close(transfer, segment);
    }
  }

  async #close(transfer: AbortController, segment: FileSegment | undefined): Promise<void> {
    this.transfers.close(transfer);
    await segment?.close();
  }
}

/** Undefined when `If-Range` excludes the range. */
function rangeOf({ headers }: FastifyRequest, file: ListedFile): ByteRange | undefined {
  const range = parseRange(headers.range);
  const condition = headers['if-range'];
  if (condition !== undefined && condition !== tagOf(file)) return undefined;
  if (range && 'last' in range && file.state === 'open') throw unsatisfiable(file);
  return range;
}

function tagOf({ sha256 }: ListedFile): string | undefined {
  return sha256 === undefined ? undefined : `"${sha256}"`;
}

function unsatisfiable({ state, bytes }: ListedFile): Problem {
  return new Problem('range-not-satisfiable', undefined, { state, bytes });
}

function headersOf(
  file: ListedFile,
  extent: Extent | undefined,
  range: ByteRange | undefined,
): OutgoingHttpHeaders {
  const { sha256, name, state, bytes } = file;
  const digest = sha256 === undefined ? undefined : formatDigest(sha256);
  return {
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename*=UTF-8''${encodeName(name.split('/').at(-1)!)}`,
    'accept-ranges': 'bytes',
    'cache-control': 'no-store',
    ...(digest !== undefined && { etag: tagOf(file), 'repr-digest': digest }),
    ...(digest !== undefined && !range && { 'content-digest': digest }),
    ...(extent ? { 'content-length': extent.end - extent.from } : { trailer: 'repr-digest' }),
    ...(range &&
      extent && {
        'content-range': `bytes ${extent.from}-${extent.end - 1}/${state === 'closed' ? bytes : '*'}`,
      }),
  };
}

/** RFC 8187. */
function encodeName(name: string): string {
  return encodeURIComponent(name).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`);
}

async function soon<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  // A late rejection is ignored.
  promise.catch(() => undefined);
  let timer: NodeJS.Timeout | undefined;
  try {
    return await Promise.race([
      promise,
      new Promise<undefined>((resolve) => {
        timer = setTimeout(() => resolve(undefined), ms);
      }),
    ]);
  } finally {
    clearTimeout(timer);
  }
}

async function* prepend(first: Buffer, others: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* others;
}
