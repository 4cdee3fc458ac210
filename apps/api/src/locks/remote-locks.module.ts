import { Module } from '@nestjs/common';

import { LocksController } from './locks.controller.js';
import { MultiLocksController } from './multi-locks.controller.js';
import { OperatorLists } from './operator-lists.js';
import { RateLimitersController } from './rate-limiters.controller.js';
import { ReadWriteLocksController } from './read-write-locks.controller.js';
import { RemoteLeases } from './remote-leases.js';
import { RemoteLocks } from './remote-locks.js';
import { RemoteRateLimiters } from './remote-rate-limiters.js';
import { RemoteReadWriteLocks } from './remote-read-write-locks.js';
import { RemoteSemaphores } from './remote-semaphores.js';
import { SemaphoresController } from './semaphores.controller.js';
import { TenantLocks } from './tenant-locks.js';
import { WatchedLocks } from './watched-locks.js';

/** Locks, semaphores and rate limits for HTTP clients. The holder renews its lease; the API doesn't. */
@Module({
  controllers: [
    LocksController,
    MultiLocksController,
    RateLimitersController,
    ReadWriteLocksController,
    SemaphoresController,
  ],
  providers: [
    TenantLocks,
    RemoteLeases,
    RemoteLocks,
    RemoteReadWriteLocks,
    RemoteRateLimiters,
    RemoteSemaphores,
    OperatorLists,
    WatchedLocks,
  ],
  exports: [WatchedLocks],
})
export class RemoteLocksModule {}
