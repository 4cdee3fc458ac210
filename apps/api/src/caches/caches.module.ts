import { Module } from '@nestjs/common';

import { CacheLoadsController } from './cache-loads.controller.js';
import { CacheLoads } from './cache-loads.js';
import { CachesController } from './caches.controller.js';

/** Caches for HTTP clients. */
@Module({ controllers: [CachesController, CacheLoadsController], providers: [CacheLoads] })
export class CachesModule {}
