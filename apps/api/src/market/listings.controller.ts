import { Body, Controller, Delete, Get, HttpStatus, Post, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';

import { Answers, AnswersNothing, Creates } from '../http/answers.js';
import { Waits } from '../http/deadline.interceptor.js';
import { Id } from '../http/id.decorator.js';
import { IdempotencyKey, TakesIdempotencyKey } from '../http/idempotency-key.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import type { Listing, Page } from './index.js';
import { Market, UnknownListingError } from './index.js';
import { ListingTimers } from './listing-timers.js';
import { lockWaitOf } from './lock-wait.js';
import { listingBody, listingSchema, listingsPage, listingsQuery, withdrawalQuery } from './schemas.js';

@ApiTags('listings')
@Controller('v1/market/listings')
export class ListingsController {
  constructor(
    private readonly market: Market,
    private readonly timers: ListingTimers,
  ) {}

  @Post()
  @ApiOperation({ summary: 'Offer an item', description: "The item leaves the seller's inventory." })
  @Waits(lockWaitOf)
  @TakesIdempotencyKey('Becomes the id of the listing; the same offer again gives the same listing.')
  @Creates(listingSchema, 'The listing.', 'The listing that an earlier request made.', 'Location')
  @Problems(
    ...BODY_PROBLEMS,
    'invalid-idempotency-key',
    'unknown-player',
    'unknown-item',
    'not-owner',
    'item-listed',
    'already-sold',
    'stale-token',
    'lock-timeout',
    'request-reused',
  )
  async list(
    @Body({ schema: listingBody }) body: z.infer<typeof listingBody>,
    @IdempotencyKey() id: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Listing> {
    const { value, isRepeated } = await this.market.list({ id, ...body });
    if (!isRepeated) await this.timers.enqueueTasks(value);
    reply.status(isRepeated ? HttpStatus.OK : HttpStatus.CREATED);
    reply.header('location', `/v1/market/listings/${value.id}`);
    return value;
  }

  @Get()
  @ApiOperation({ summary: 'List open listings', description: 'The newest or the cheapest first.' })
  @Answers(listingsPage, 'A page of listings.')
  @Problems('invalid-query', 'invalid-cursor')
  async listings(
    @Query({ schema: listingsQuery }) query: z.infer<typeof listingsQuery>,
  ): Promise<Page<Listing>> {
    return await this.market.listings(query);
  }

  @Get(':id')
  @ApiOperation({ summary: 'Read a listing' })
  @Answers(listingSchema, 'The listing.')
  @Problems('invalid-id', 'unknown-listing')
  async listing(@Id('id') id: string): Promise<Listing> {
    const listing = await this.market.listing(id);
    if (!listing) throw new UnknownListingError(id);
    return listing;
  }

  @Delete(':id')
  @Waits(lockWaitOf)
  @ApiOperation({
    summary: 'Withdraw a listing',
    description: "The item returns to the seller's inventory. Repeating it is safe for an hour.",
  })
  @AnswersNothing('The listing is withdrawn.')
  @Problems(
    'invalid-id',
    'invalid-query',
    'not-seller',
    'unknown-listing',
    'already-sold',
    'stale-token',
    'lock-timeout',
  )
  async withdraw(
    @Id('id') id: string,
    @Query({ schema: withdrawalQuery }) { sellerId, strategy }: z.infer<typeof withdrawalQuery>,
  ): Promise<void> {
    await this.market.withdraw(id, sellerId, { strategy });
  }
}
