import { Global, Module } from '@nestjs/common';

import { OpenWaits } from './open-waits.js';
import { Quotas } from './quotas.js';
import { RequestLimits } from './request-limits.js';

@Global()
@Module({ providers: [RequestLimits, Quotas, OpenWaits], exports: [RequestLimits, Quotas, OpenWaits] })
export class LimitsModule {}
