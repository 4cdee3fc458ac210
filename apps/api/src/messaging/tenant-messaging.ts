/** The mailboxes and chats of each tenant. */
import { Chats, Mailboxes } from '@mortise/messaging';
import type { RedisClient } from '@mortise/redis';
import { Metrics } from '@mortise/app-common/operations';
import { Inject, Injectable } from '@nestjs/common';

import type { Config } from '../config.js';
import { PerTenant } from '../tenants/per-tenant.js';
import { CONFIG, REDIS } from '../tokens.js';

@Injectable()
export class TenantMailboxes extends PerTenant<Mailboxes> {
  constructor(@Inject(REDIS) redis: RedisClient, @Inject(CONFIG) config: Config, { telemetry }: Metrics) {
    super(config.MORTISE_PREFIX, (prefix) => new Mailboxes(redis, { prefix, telemetry }));
  }
}

@Injectable()
export class TenantChats extends PerTenant<Chats> {
  constructor(@Inject(REDIS) redis: RedisClient, @Inject(CONFIG) config: Config, { telemetry }: Metrics) {
    super(config.MORTISE_PREFIX, (prefix) => new Chats(redis, { prefix, telemetry }));
  }
}
