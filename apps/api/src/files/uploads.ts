import { FileAbortedError, ReceiversDifferError } from '@mortise/messaging/files';
import type { FileChannel, FileRef, SentFile } from '@mortise/messaging/files';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';

import type { Config } from '../config.js';
import { Problem } from '../problems/problem.js';
import { CONFIG, LOG } from '../tokens.js';
import { AbandonedFiles } from './abandoned-files.js';
import { CHANNEL_OPTIONS, UPLOAD_LEASE_MS } from './channel-options.js';
import { TenantFiles } from './tenant-files.js';
import { Transfers } from './transfers.js';
import { BrokenOff, UploadBody } from './upload-body.js';

/** Receivers may join and leave between the reading of their names and the listing of the file. */
const ATTEMPTS = 5;
/** How long a client that was answered early may go on sending, until it reads the answer, ms. */
const DRAIN_MS = 2_000;

export interface Upload {
  readonly channel: string;
  readonly name: string;
  /** The Idempotency-Key. */
  readonly key: string | undefined;
  /** The SHA-256 that the client gives, in hex. */
  readonly sha256: string | undefined;
}

@Injectable()
export class Uploads {
  constructor(
    private readonly files: TenantFiles,
    private readonly transfers: Transfers,
    private readonly abandoned: AbandonedFiles,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  /**
   * Sends the body of a request as a file, as fast as the slowest receiver makes room. An upload that breaks off is given up; with a key it is kept for
   * FILE_RESUME_MS, and the same request continues it. Throws problems.
   */
  async run(upload: Upload, request: FastifyRequest, reply: FastifyReply): Promise<SentFile> {
    const { FILE_MAX_BYTES: maxBytes, STREAM_TIMEOUT_MS: stallMs, FILE_TIMEOUT_MS: timeoutMs } = this.config;
    drainAfterAnswer(request, reply);
    const length = request.headers['content-length'];
    const sizeBytes = length === undefined ? undefined : Number(length);
    if (sizeBytes !== undefined && sizeBytes > maxBytes)
      throw new Problem('body-too-large', undefined, { maxBytes });
    await this.abandoned.look(upload.channel);
    const files = this.files.current.channel(upload.channel, CHANNEL_OPTIONS);
    await requireSame(files, upload);
    const transfer = this.transfers.open();
    const limits = { maxBytes, stallMs, timeoutMs, sha256: upload.sha256 };
    const body = new UploadBody(request.raw, limits, transfer);
    let listed: FileRef | undefined;
    try {
      const sent = await this.#send(files, upload, body, { sizeBytes, signal: transfer.signal }, (file) => {
        listed = file;
      });
      if (sent.isDuplicate) {
        await requireNotAborted(files, sent);
        // Another upload may have come to its end meanwhile.
        await requireSame(files, upload);
      }
      return sent;
    } catch (error) {
      throw await this.#ended(files, upload, listed, body, error);
    } finally {
      body.close();
      this.transfers.close(transfer);
    }
  }

  async #send(
    files: FileChannel,
    { channel, name, key }: Upload,
    body: UploadBody,
    options: { readonly sizeBytes: number | undefined; readonly signal: AbortSignal },
    onListed: (file: { readonly number: number; readonly epoch: string }) => void,
  ): Promise<SentFile> {
    for (let attempt = 1; ; attempt += 1) {
      const receivers = (await files.receivers()).map(({ receiver }) => receiver);
      if (receivers.length === 0) throw new Problem('no-receivers', undefined, { channel });
      try {
        const sender = this.files.current.sender(channel, { receivers, leaseMs: UPLOAD_LEASE_MS });
        return await sender.send(body, {
          name,
          ...(key !== undefined && { id: key }),
          ...options,
          onListed,
        });
      } catch (error) {
        if (!(error instanceof ReceiversDifferError) || attempt === ATTEMPTS) throw error;
      }
    }
  }

  /** The error for the client of an upload that failed, after the file was given up. */
  async #ended(
    files: FileChannel,
    { key, channel }: Upload,
    listed: FileRef | undefined,
    { hasBegun }: UploadBody,
    error: unknown,
  ): Promise<unknown> {
    if (error instanceof FileAbortedError)
      return new Problem('file-aborted', 'all receivers were done with it before it was sent');
    const slug = error instanceof Problem ? error.slug : undefined;
    const isResumable = key !== undefined && (error instanceof BrokenOff || slug === 'shutting-down');
    if (slug === 'budget-exhausted') {
      // This also distinguishes a channel without room from a Redis that is away.
      const found = await files.numberOf(key ?? 'any').catch((err: unknown) => ({ err }));
      if (found && 'err' in found) return found.err;
      if (found?.isListed && !hasBegun) return new Problem('upload-running', undefined, { key });
    }
    if (!hasBegun || isResumable) return error;
    try {
      const reason = error instanceof Problem ? error.message : 'The upload failed';
      if (listed) await files.discard(listed, reason);
    } catch (err) {
      this.log.warn({ err, channel }, 'an upload that failed is left for later');
    }
    return error;
  }
}

/** A key belongs to one request: its file has this name, and this digest where both are known. */
async function requireSame(files: FileChannel, { key, name, sha256 }: Upload): Promise<void> {
  const found = key === undefined ? undefined : await files.numberOf(key);
  if (!found) return;
  const isOther = found.name !== undefined && found.name !== name;
  const isOtherBody = found.sha256 !== undefined && sha256 !== undefined && found.sha256 !== sha256;
  if (isOther || isOtherBody) throw new Problem('request-reused', undefined, { key });
}

async function requireNotAborted(files: FileChannel, sent: SentFile): Promise<void> {
  const file = await files.file(sent).catch(() => undefined);
  if (file?.state === 'aborted') throw new Problem('file-aborted', undefined, { reason: file.reason });
}

/** To close the connection at once would cut off the answer as well. */
function drainAfterAnswer({ raw }: FastifyRequest, reply: FastifyReply): void {
  reply.raw.once('finish', () => {
    if (raw.complete) return;
    raw.resume();
    const { socket } = raw;
    const timer = setTimeout(() => socket.destroy(), DRAIN_MS);
    raw.once('end', () => clearTimeout(timer));
    // An answered request is no longer closed with its socket.
    socket.once('close', () => clearTimeout(timer));
  });
}
