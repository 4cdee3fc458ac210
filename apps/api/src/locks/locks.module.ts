import { Module } from '@nestjs/common';

import { LocksController } from './locks.controller.js';
import { OpenWaits } from './open-waits.js';
import { OperatorLists } from './operator-lists.js';
import { RemoteLeases } from './remote-leases.js';
import { RemoteLocks } from './remote-locks.js';
import { RemoteSemaphores } from './remote-semaphores.js';
import { SemaphoresController } from './semaphores.controller.js';

@Module({
  controllers: [LocksController, SemaphoresController],
  providers: [RemoteLeases, RemoteLocks, RemoteSemaphores, OperatorLists, OpenWaits],
})
export class LocksModule {}
