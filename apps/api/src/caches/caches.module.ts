import { Module } from '@nestjs/common';

import { CacheChanges } from './cache-changes.js';
import { CacheKeys } from './cache-keys.js';
import { CacheLoadsController } from './cache-loads.controller.js';
import { CacheLoads } from './cache-loads.js';
import { CacheReads } from './cache-reads.js';
import { CachesController } from './caches.controller.js';

/** Caches for HTTP clients. */
@Module({
  controllers: [CachesController, CacheLoadsController],
  providers: [CacheChanges, CacheKeys, CacheLoads, CacheReads],
  exports: [CacheChanges],
})
export class CachesModule {}
