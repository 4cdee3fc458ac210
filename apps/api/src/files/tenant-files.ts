import { Files } from '@mortise/messaging/nestjs';
import type { RedisClient } from '@mortise/redis';
import { Metrics } from '@mortise/app-common/operations';
import { Inject, Injectable } from '@nestjs/common';

import type { Config } from '../config.js';
import { PerTenant } from '../tenants/per-tenant.js';
import { CONFIG, REDIS } from '../tokens.js';

/** The channels of files of each tenant. */
@Injectable()
export class TenantFiles extends PerTenant<Files> {
  constructor(@Inject(REDIS) redis: RedisClient, @Inject(CONFIG) config: Config, { telemetry }: Metrics) {
    const options = {
      windowBytes: config.FILE_WINDOW_BYTES,
      budgetBytes: config.FILE_BUDGET_BYTES,
      keepMs: config.FILE_TTL_MS,
    };
    super(config.MORTISE_PREFIX, (prefix) => new Files(redis, prefix, { ...options, telemetry }));
  }
}
