import { Module } from '@nestjs/common';

import { CachesController } from './caches.controller.js';

/** Caches for HTTP clients. */
@Module({ controllers: [CachesController] })
export class CachesModule {}
