/** The services of @mortise/autocomplete, for each tenant. */
import { RecentContacts } from '@mortise/autocomplete';
import { AddressBooks } from '@mortise/autocomplete/nestjs';
import type { RedisClient } from '@mortise/redis';
import { Metrics } from '@mortise/app-common/operations';
import { Inject, Injectable } from '@nestjs/common';

import type { Config } from '../config.js';
import { PerTenant } from '../tenants/per-tenant.js';
import { CONFIG, REDIS } from '../tokens.js';
import { MAX_CONTACTS } from './contact-schemas.js';
import { displayOf } from './contact.js';

@Injectable()
export class TenantContacts extends PerTenant<RecentContacts> {
  constructor(@Inject(REDIS) redis: RedisClient, @Inject(CONFIG) config: Config, { telemetry }: Metrics) {
    const options = { capacity: MAX_CONTACTS, displayOf };
    super(config.MORTISE_PREFIX, (prefix) => new RecentContacts(redis, { ...options, prefix, telemetry }));
  }
}

@Injectable()
export class TenantBooks extends PerTenant<AddressBooks> {
  constructor(@Inject(REDIS) redis: RedisClient, @Inject(CONFIG) config: Config, { telemetry }: Metrics) {
    super(config.MORTISE_PREFIX, (prefix) => new AddressBooks(redis, { prefix, telemetry }));
  }
}
