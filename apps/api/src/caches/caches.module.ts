import { Module } from '@nestjs/common';

import { CacheChanges } from './cache-changes.js';
import { CacheLoadsController } from './cache-loads.controller.js';
import { CacheLoads } from './cache-loads.js';
import { CachesController } from './caches.controller.js';

/** Caches for HTTP clients. */
@Module({
  controllers: [CachesController, CacheLoadsController],
  providers: [CacheChanges, CacheLoads],
  exports: [CacheChanges],
})
export class CachesModule {}
