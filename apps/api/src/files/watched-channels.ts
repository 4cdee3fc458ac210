/** Channels of files that pages watch: the state of now, and each change of it. */
import { Injectable } from '@nestjs/common';
import type { z } from 'zod';

import { Watched } from '../lists/watched.js';
import type { channelSchema } from './schemas.js';
import { shownChannel } from './shown.js';
import { TenantFiles } from './tenant-files.js';

/** A look reads the head of each listed file, of up to 1,000. */
const EVERY_MS = 1_000;

type Channel = z.infer<typeof channelSchema>;

@Injectable()
export class WatchedChannels {
  readonly #watched = new Watched<Channel>(EVERY_MS);

  constructor(private readonly files: TenantFiles) {}

  /** A channel of the tenant of the request: its state with its oldest files, and each change, until the signal. */
  follow(channel: string, signal: AbortSignal): AsyncIterable<Channel> {
    return this.#watched.follow(channel, signal, async () =>
      shownChannel(channel, await this.files.current.channel(channel).status()),
    );
  }
}
