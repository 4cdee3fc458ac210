import type { RateLimiterInUse } from '@mortise/locks';
import { RateLimiter } from '@mortise/locks';
import type { RedisClient } from '@mortise/redis';
import { Inject, Injectable } from '@nestjs/common';
import type { z } from 'zod';

import type { Config } from '../config.js';
import { currentTenant, prefixOf } from '../tenants/tenancy.js';
import { CONFIG, REDIS } from '../tokens.js';
import type { rateLimiterSchema } from './schemas.js';
import { unlessUnreadable } from './seen-state.js';

type Seen = Omit<z.infer<typeof rateLimiterSchema>, 'name'>;

/** The rate limiters of @mortise/locks under the prefix of the tenant: programs that use the package share them. */
@Injectable()
export class RemoteRateLimiters {
  readonly #prefix: string;

  constructor(
    @Inject(REDIS) private readonly redis: RedisClient,
    @Inject(CONFIG) { MORTISE_PREFIX: prefix }: Config,
  ) {
    this.#prefix = prefix;
  }

  /** The state of the limiter; null if it cannot be read. One round trip. */
  async inspect(name: string): Promise<Seen | null> {
    const prefix = prefixOf(this.#prefix, currentTenant());
    // A limiter without a state is whole, and no failure.
    const look = async (): Promise<{ its: RateLimiterInUse | null }> => ({
      its: await RateLimiter.inspect(this.redis, name, { prefix }),
    });
    const found = await unlessUnreadable(look);
    return found && seen(found.its);
  }
}

function seen(its: RateLimiterInUse | null): Seen | null {
  const { limit = null, periodMs = null, burst = null } = its?.terms ?? {};
  const resetAfterMs = its?.resetAfterMs ?? 0;
  // Other programs may have written there.
  if (![limit ?? 1, periodMs ?? 1, burst ?? 1, resetAfterMs].every(Number.isSafeInteger)) return null;
  return { limit, periodMs, burst, remaining: its?.remaining ?? null, resetAfterMs };
}
