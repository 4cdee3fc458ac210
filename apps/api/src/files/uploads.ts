import { ReceiversDifferError } from '@mortise/messaging';
import type { FileChannel, SentFile } from '@mortise/messaging';
import { Files, InjectFiles } from '@mortise/messaging/nestjs';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { v7 as uuid } from 'uuid';

import type { Config } from '../config.js';
import { Problem } from '../problems/problem.js';
import { CONFIG, LOG } from '../tokens.js';
import { AbandonedFiles } from './abandoned-files.js';
import { CHANNEL_OPTIONS, UPLOAD_LEASE_MS } from './channel-options.js';
import { Transfers } from './transfers.js';
import { BrokenOff, UploadBody } from './upload-body.js';

/** Receivers may join and leave between the question who they are and the listing of the file. */
const ATTEMPTS = 5;
/** A client that was answered before it had sent everything may go on sending for so long, to come to reading the answer, ms. */
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
    @InjectFiles() private readonly files: Files,
    private readonly transfers: Transfers,
    private readonly abandoned: AbandonedFiles,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  /**
   * Sends the body of a request as a file, as fast as the slowest receiver makes room. What breaks off is given up; with a key it is kept for
   * FILE_RESUME_MS, and the same request goes on with it. Throws problems.
   */
  async run(upload: Upload, request: FastifyRequest, reply: FastifyReply): Promise<SentFile> {
    const {
      FILE_MAX_BYTES: maxBytes,
      STREAM_PATIENCE_MS: stallMs,
      FILE_PATIENCE_MS: patienceMs,
    } = this.config;
    drainAfterAnswer(request, reply);
    if (Number(request.headers['content-length'] ?? 0) > maxBytes)
      throw new Problem('body-too-large', undefined, { maxBytes });
    await this.abandoned.look(upload.channel);
    const files = this.files.channel(upload.channel, CHANNEL_OPTIONS);
    const id = upload.key ?? uuid();
    const transfer = this.transfers.open();
    const limits = { maxBytes, stallMs, patienceMs, sha256: upload.sha256 };
    const body = new UploadBody(request.raw, limits, transfer);
    try {
      const sent = await this.#send(files, upload, id, body, transfer.signal);
      if (sent.isDuplicate) await requireNotAborted(files, sent);
      else if (!body.isWhole) {
        await files.settle(sent);
        throw new Problem('file-aborted', 'all receivers were done with it before it was sent');
      }
      return sent;
    } catch (error) {
      throw await this.#ended(files, upload, id, body, error);
    } finally {
      body.close();
      this.transfers.close(transfer);
    }
  }

  async #send(
    files: FileChannel,
    { channel, name }: Upload,
    id: string,
    body: UploadBody,
    signal: AbortSignal,
  ): Promise<SentFile> {
    for (let attempt = 1; ; attempt += 1) {
      const receivers = (await files.receivers()).map(({ receiver }) => receiver);
      if (receivers.length === 0) throw new Problem('no-receivers', undefined, { channel });
      try {
        const sender = this.files.sender(channel, { receivers, leaseMs: UPLOAD_LEASE_MS });
        return await sender.send(body, { name, id, signal });
      } catch (error) {
        if (!(error instanceof ReceiversDifferError) || attempt === ATTEMPTS) throw error;
      }
    }
  }

  /** What the client is told of an upload that failed, once nothing is left of it that shall not be. */
  async #ended(
    files: FileChannel,
    { key, channel }: Upload,
    id: string,
    { hasBegun }: UploadBody,
    error: unknown,
  ): Promise<unknown> {
    const slug = error instanceof Problem ? error.slug : undefined;
    const isResumable = key !== undefined && (error instanceof BrokenOff || slug === 'shutting-down');
    if (slug === 'budget-exhausted') {
      // Also tells a channel without room from a Redis that is away.
      const found = await files.numberOf(id).catch((err: unknown) => ({ err }));
      if (found && 'err' in found) return found.err;
      if (found?.isListed && !hasBegun) return new Problem('upload-running', undefined, { key });
    }
    if (!hasBegun || isResumable) return error;
    try {
      const found = await files.numberOf(id);
      const reason = error instanceof Problem ? error.message : 'The upload failed';
      if (found) await files.discard(found.number, reason);
    } catch (err) {
      this.log.warn({ err, channel }, 'an upload that failed is left for later');
    }
    return error;
  }
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
    const timer = setTimeout(() => raw.socket.destroy(), DRAIN_MS);
    raw.once('close', () => clearTimeout(timer));
    raw.once('end', () => clearTimeout(timer));
  });
}
