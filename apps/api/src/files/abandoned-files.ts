import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';

import type { Config } from '../config.js';
import { currentTenant } from '../tenants/tenancy.js';
import { CONFIG, LOG } from '../tokens.js';
import { CHANNEL_OPTIONS } from './channel-options.js';
import { TenantFiles } from './tenant-files.js';

/** The most channels whose last look is remembered. */
const MAX_KNOWN = 10_000;
const MAX_PAUSE_MS = 5_000;

/**
 * Gives up abandoned uploads, whose process died or whose client did not come back. Any request looks for them: an upload to the channel, a list, a
 * download.
 */
@Injectable()
export class AbandonedFiles {
  readonly #lookedAt = new Map<string, number>();
  readonly #resumeMs: number;
  /** Between two looks at a channel. */
  readonly pauseMs: number;

  constructor(
    private readonly files: TenantFiles,
    @Inject(CONFIG) { FILE_RESUME_MS }: Config,
    @Inject(LOG) private readonly log: Logger,
  ) {
    this.#resumeMs = FILE_RESUME_MS;
    this.pauseMs = Math.min(MAX_PAUSE_MS, FILE_RESUME_MS / 4);
  }

  /** Two round trips, once in `pauseMs` for each channel. Errors are left to the next look. */
  async look(channel: string): Promise<void> {
    const now = performance.now();
    const key = `${currentTenant()} ${channel}`;
    if (now - (this.#lookedAt.get(key) ?? -Infinity) < this.pauseMs) return;
    if (this.#lookedAt.size >= MAX_KNOWN) this.#lookedAt.clear();
    this.#lookedAt.set(key, now);
    try {
      const files = this.files.current.channel(channel, CHANNEL_OPTIONS);
      const given = await files.discardAbandoned(this.#resumeMs, 'The upload was lost');
      if (given > 0) this.log.warn({ channel, files: given }, 'uploads were lost');
    } catch (err) {
      this.log.debug({ err, channel }, 'abandoned files');
    }
  }
}
