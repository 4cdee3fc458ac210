import { Locks } from '@mortise/locks/nestjs';
import type { RedisClient } from '@mortise/redis';
import { Metrics } from '@mortise/app-common/operations';
import { Inject, Injectable } from '@nestjs/common';

import type { Config } from '../config.js';
import { PerTenant } from '../tenants/per-tenant.js';
import { CONFIG, REDIS } from '../tokens.js';

/** The locks and semaphores of each tenant. Their holders renew the leases; the API doesn't. */
@Injectable()
export class TenantLocks extends PerTenant<Locks> {
  constructor(@Inject(REDIS) redis: RedisClient, @Inject(CONFIG) config: Config, { telemetry }: Metrics) {
    super(config.MORTISE_PREFIX, (prefix) => new Locks(redis, { prefix, telemetry, renew: false }));
  }
}
