import { Body, Controller, Delete, Param, Post } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';

import { Answers, AnswersNothing } from '../http/answers.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { nameSchema, takeBody, takenSchema } from './schemas.js';
import { TenantLocks } from './tenant-locks.js';

@ApiTags('locks')
@Controller('v1/rate-limiters')
export class RateLimitersController {
  constructor(private readonly locks: TenantLocks) {}

  @Post(':name/take')
  @ApiOperation({
    summary: 'Take permits of a rate limit',
    description:
      'Never waits: a refusal has the status 200, too, and says when to come again. Programs that use @mortise/locks share the ' +
      'limit. A repeated request takes again.',
  })
  @Answers(takenSchema, 'Whether they were taken.')
  @Problems('invalid-id', ...BODY_PROBLEMS)
  async takePermits(
    @Param('name', { schema: nameSchema }) name: string,
    @Body({ schema: takeBody }) { cost, ...terms }: z.infer<typeof takeBody>,
  ): Promise<z.infer<typeof takenSchema>> {
    return this.locks.current.rateLimiter(name, terms).take(cost);
  }

  @Delete(':name')
  @ApiOperation({
    summary: 'Restore the whole burst of a rate limit',
    description: 'For operators. Repeating it is safe.',
  })
  @AnswersNothing('All of it is available.')
  @Problems('invalid-id')
  async resetRateLimiter(@Param('name', { schema: nameSchema }) name: string): Promise<void> {
    // The stored state has no limit, so any will do.
    await this.locks.current.rateLimiter(name, { limit: 1, periodMs: 1 }).reset();
  }
}
