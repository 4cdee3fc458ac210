import { Module } from '@nestjs/common';

import { LocksController } from './locks.controller.js';
import { OperatorLists } from './operator-lists.js';
import { RemoteLeases } from './remote-leases.js';
import { RemoteLocks } from './remote-locks.js';
import { RemoteSemaphores } from './remote-semaphores.js';
import { SemaphoresController } from './semaphores.controller.js';
import { TenantLocks } from './tenant-locks.js';

/** Locks and semaphores for HTTP clients. The holder renews its lease; the API doesn't. */
@Module({
  controllers: [LocksController, SemaphoresController],
  providers: [TenantLocks, RemoteLeases, RemoteLocks, RemoteSemaphores, OperatorLists],
})
export class RemoteLocksModule {}
