import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { DailyAggregates } from '@mortise/messaging/log-aggregation';
import type { DailyTop, Dimension } from '@mortise/messaging/log-aggregation';
import type { z } from 'zod';

import { Answers } from '../http/answers.js';
import { Problems } from '../http/problems.decorator.js';
import { dailyTopSchema, daySchema, dimensionSchema, topQuery } from './schemas.js';

@ApiTags('aggregates')
@Controller('v1/aggregates/daily')
export class AggregatesController {
  constructor(private readonly aggregates: DailyAggregates) {}

  @Get(':dimension/:day')
  @ApiOperation({
    summary: 'Read where most lines of a day came from',
    description:
      'Counts the lines of access logs that the worker has counted so far. A day without lines has no items.',
  })
  @Answers(dailyTopSchema, 'The most frequent places.')
  @Problems('invalid-id', 'invalid-query')
  async dailyTop(
    @Param('dimension', { schema: dimensionSchema }) dimension: Dimension,
    @Param('day', { schema: daySchema }) day: string,
    @Query({ schema: topQuery }) query: z.infer<typeof topQuery>,
  ): Promise<DailyTop> {
    return this.aggregates.top(dimension, day, query);
  }
}
