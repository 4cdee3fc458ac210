import { Module } from '@nestjs/common';

import { AdminKeysController } from './admin-keys.controller.js';
import { AdminTenantsController } from './admin-tenants.controller.js';
import { AuditController } from './audit.controller.js';

@Module({ controllers: [AdminKeysController, AdminTenantsController, AuditController] })
export class AdminModule {}
