import type { OverviewOfQueues } from '@mortise/queues/admin';
import { Controller, Get } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';

import { Answers } from '../http/answers.js';
import { Problems } from '../http/problems.decorator.js';
import { OverviewReader } from './overview.js';
import type { RedisReport } from './figures.js';
import { RedisFigures } from './redis-figures.js';
import { overviewSchema, redisSchema } from './schemas.js';

@ApiTags('overview')
@Controller('v1')
export class ConsoleController {
  constructor(
    private readonly overviews: OverviewReader,
    private readonly redis: RedisFigures,
  ) {}

  @Get('overview')
  @ApiOperation({
    summary: 'Read all queues in numbers',
    description: 'The topic `overview` of `GET /v1/events` sends each change.',
  })
  @Answers(overviewSchema, 'The queues.')
  @Problems()
  overview(): Promise<OverviewOfQueues> {
    return this.overviews.read();
  }

  @Get('redis')
  @ApiOperation({
    summary: 'Examine the Redis of the deployment',
    description:
      'Sends some 25 commands to each master. The topic `redis` of `GET /v1/events` sends the figures.',
  })
  @Answers(redisSchema, 'The figures, slow commands, and recommended changes.')
  @Problems()
  examineRedis(): Promise<RedisReport> {
    return this.redis.report();
  }
}
