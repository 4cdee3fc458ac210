import { Body, Controller, Delete, Get, Param, Post, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';

import { Answers, AnswersNothing } from '../http/answers.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { OperatorLists } from './operator-lists.js';
import { RemoteRateLimiters } from './remote-rate-limiters.js';
import {
  listQuery,
  nameSchema,
  rateLimiterSchema,
  rateLimitersPage,
  takeBody,
  takenSchema,
} from './schemas.js';
import { unreadable } from './seen-state.js';
import { TenantLocks } from './tenant-locks.js';

@ApiTags('locks')
@Controller('v1/rate-limiters')
export class RateLimitersController {
  constructor(
    private readonly locks: TenantLocks,
    private readonly limiters: RemoteRateLimiters,
    private readonly lists: OperatorLists,
  ) {}

  @Get()
  @ApiOperation({
    summary: 'List the rate limits that are in use',
    description:
      'Lists the limits whose whole burst is not available. For operators. A page scans at most 10,000 keys of ' +
      'Redis, for up to 0.1 s. It may be empty, or have more items than the limit. The list ends where ' +
      '`nextCursor` is null. Limits whose state cannot be read are left out.',
  })
  @Answers(rateLimitersPage, 'A page of rate limits, in no order.')
  @Problems('invalid-query', 'invalid-cursor')
  async listRateLimiters(
    @Query({ schema: listQuery }) { cursor, limit }: z.infer<typeof listQuery>,
  ): Promise<z.infer<typeof rateLimitersPage>> {
    return await this.lists.rateLimiters(limit, cursor);
  }

  @Get(':name')
  @ApiOperation({
    summary: 'Look at a rate limit',
    description:
      'The request takes and changes nothing. The limit is that of the last take. A rate limit whose whole ' +
      'burst is available has none.',
  })
  @Answers(rateLimiterSchema, 'The state of the lock.')
  @Problems('invalid-id')
  async rateLimiter(
    @Param('name', { schema: nameSchema }) name: string,
  ): Promise<z.infer<typeof rateLimiterSchema>> {
    const state = await this.limiters.inspect(name);
    if (!state) throw unreadable('rate limit', name);
    return { name, ...state };
  }

  @Post(':name/take')
  @ApiOperation({
    summary: 'Take permits of a rate limit',
    description:
      'The request never waits. A refusal also has the status 200, and says when to try again. Programs that ' +
      'use @mortise/locks share the limit. A repeated request takes permits again.',
  })
  @Answers(takenSchema, 'Whether the permits were taken.')
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
    description: 'For operators. Repeating the request is safe.',
  })
  @AnswersNothing('The whole burst is available.')
  @Problems('invalid-id')
  async resetRateLimiter(@Param('name', { schema: nameSchema }) name: string): Promise<void> {
    // The stored state has no limit, so any will do.
    await this.locks.current.rateLimiter(name, { limit: 1, periodMs: 1 }).reset();
  }
}
