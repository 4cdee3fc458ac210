import { Global, Module } from '@nestjs/common';

import { OpenWaits } from './open-waits.js';
import { Quotas } from './quotas.js';
import { RequestLimits } from './request-limits.js';
import { Usage } from './usage.js';

@Global()
@Module({
  providers: [RequestLimits, Quotas, Usage, OpenWaits],
  exports: [RequestLimits, Quotas, Usage, OpenWaits],
})
export class LimitsModule {}
