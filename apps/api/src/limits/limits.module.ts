import { Global, Module } from '@nestjs/common';

import { Quotas } from './quotas.js';
import { RequestLimits } from './request-limits.js';

@Global()
@Module({ providers: [RequestLimits, Quotas], exports: [RequestLimits, Quotas] })
export class LimitsModule {}
