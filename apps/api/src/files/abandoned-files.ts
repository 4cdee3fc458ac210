import { Files, InjectFiles } from '@mortise/messaging/nestjs';
import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';

import type { Config } from '../config.js';
import { CONFIG, LOG } from '../tokens.js';
import { CHANNEL_OPTIONS } from './channel-options.js';

/** Of how many channels it is known when they were looked at. */
const MAX_KNOWN = 10_000;
const MAX_PAUSE_MS = 5_000;

/**
 * Gives up files whose upload ended without an end, since the process that took it died or its client did not come back, when anybody comes by: an
 * upload to the channel, a list, a download.
 */
@Injectable()
export class AbandonedFiles {
  readonly #lookedAt = new Map<string, number>();
  readonly #resumeMs: number;
  /** Between two looks at a channel. */
  readonly pauseMs: number;

  constructor(
    @InjectFiles() private readonly files: Files,
    @Inject(CONFIG) { FILE_RESUME_MS }: Config,
    @Inject(LOG) private readonly log: Logger,
  ) {
    this.#resumeMs = FILE_RESUME_MS;
    this.pauseMs = Math.min(MAX_PAUSE_MS, FILE_RESUME_MS / 4);
  }

  /** Two round trips, once in a while for each channel. What goes wrong is for the next one. */
  async look(channel: string): Promise<void> {
    const now = performance.now();
    if (now - (this.#lookedAt.get(channel) ?? -Infinity) < this.pauseMs) return;
    if (this.#lookedAt.size >= MAX_KNOWN) this.#lookedAt.clear();
    this.#lookedAt.set(channel, now);
    try {
      const files = this.files.channel(channel, CHANNEL_OPTIONS);
      const given = await files.discardAbandoned(this.#resumeMs, 'The upload was lost');
      if (given > 0) this.log.warn({ channel, files: given }, 'uploads were lost');
    } catch (err) {
      this.log.debug({ err, channel }, 'abandoned files');
    }
  }
}
