import { Controller, Get } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';

import { Answers } from '../http/answers.js';
import { Problems } from '../http/problems.decorator.js';
import { ShutdownState } from '../http/shutdown.js';
import { Market } from '../market/index.js';
import { Problem } from '../problems/problem.js';

const healthSchema = z.object({ status: z.enum(['live', 'ready']) }).meta({ id: 'Health' });
type Health = z.infer<typeof healthSchema>;

@ApiTags('health')
@Controller('health')
export class HealthController {
  constructor(
    private readonly market: Market,
    private readonly shutdown: ShutdownState,
  ) {}

  @Get('live')
  @ApiOperation({
    summary: 'Whether the process works',
    description: 'The probe does not examine Redis, since a restart would not help.',
  })
  @Answers(healthSchema, 'The process works.')
  live(): Health {
    return { status: 'live' };
  }

  @Get('ready')
  @ApiOperation({ summary: 'Whether requests should be sent here' })
  @Answers(healthSchema, 'Redis answers.')
  @Problems('shutting-down')
  async ready(): Promise<Health> {
    if (this.shutdown.isShuttingDown) throw new Problem('shutting-down');
    // Reads as requests do: on Cluster, PING would ask any node instead of the one that has the market.
    await this.market.outbox(1);
    return { status: 'ready' };
  }
}
