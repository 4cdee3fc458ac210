import { Body, Controller, Delete, Get, HttpCode, HttpStatus, Param, Post, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';

import { Waits } from '../http/deadline.interceptor.js';
import { IdempotencyKey, TakesIdempotencyKey } from '../http/idempotency-key.js';
import { Problems } from '../http/problems.decorator.js';
import type { Listing, Page } from './index.js';
import { Market, UnknownListingError } from './index.js';
import { ListingTimers } from './listing-timers.js';
import { lockWaitOf } from './lock-wait.js';
import {
  idSchema,
  listingBody,
  listingSchema,
  listingsPage,
  listingsQuery,
  withdrawalQuery,
} from './schemas.js';

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
  @ApiResponse({
    status: 200,
    standardSchema: listingSchema,
    description: 'The listing that an earlier request made.',
  })
  @ApiResponse({ status: 201, standardSchema: listingSchema, description: 'The listing.' })
  @Problems(
    'invalid-body',
    'invalid-idempotency-key',
    'malformed-json',
    'unknown-player',
    'unknown-item',
    'not-owner',
    'item-listed',
    'already-sold',
    'stale-token',
    'lock-timeout',
    'body-too-large',
    'unsupported-media-type',
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
  @ApiResponse({ status: 200, standardSchema: listingsPage, description: 'A page of listings.' })
  @Problems('invalid-query', 'invalid-cursor')
  async listings(
    @Query({ schema: listingsQuery }) query: z.infer<typeof listingsQuery>,
  ): Promise<Page<Listing>> {
    return await this.market.listings(query);
  }

  @Get(':id')
  @ApiOperation({ summary: 'Read a listing' })
  @ApiResponse({ status: 200, standardSchema: listingSchema, description: 'The listing.' })
  @Problems('invalid-id', 'unknown-listing')
  async listing(@Param('id', { schema: idSchema }) id: string): Promise<Listing> {
    const listing = await this.market.listing(id);
    if (!listing) throw new UnknownListingError(id);
    return listing;
  }

  @Delete(':id')
  @HttpCode(HttpStatus.NO_CONTENT)
  @Waits(lockWaitOf)
  @ApiOperation({ summary: 'Withdraw a listing', description: "The item returns to the seller's inventory." })
  @ApiResponse({ status: 204, description: 'It is withdrawn.' })
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
    @Param('id', { schema: idSchema }) id: string,
    @Query({ schema: withdrawalQuery }) { sellerId, strategy }: z.infer<typeof withdrawalQuery>,
  ): Promise<void> {
    await this.market.withdraw(id, sellerId, { strategy });
  }
}
