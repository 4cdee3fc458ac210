import { Body, Controller, Get, HttpStatus, Param, Post, Res } from '@nestjs/common';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';

import { Waits } from '../http/deadline.interceptor.js';
import { IdempotencyKey, TakesIdempotencyKey } from '../http/idempotency-key.js';
import { Problems } from '../http/problems.decorator.js';
import { Problem } from '../problems/problem.js';
import type { Receipt } from './index.js';
import { Market } from './index.js';
import { lockWaitOf } from './lock-wait.js';
import { OutboxRelay } from './outbox-relay.js';
import { idSchema, purchaseBody, receiptSchema } from './schemas.js';

type ReceiptDocument = z.infer<typeof receiptSchema>;

@ApiTags('sales')
@Controller('v1/market')
export class SalesController {
  constructor(
    private readonly market: Market,
    private readonly relay: OutboxRelay,
  ) {}

  @Post('listings/:id/purchases')
  @ApiOperation({
    summary: 'Buy a listing',
    description:
      'One atomic step moves the coins and the item and writes the receipt; then a mail to the seller is enqueued. By lock ' +
      'the purchase waits at most 0.8 s for the listing.',
  })
  @Waits(lockWaitOf)
  @TakesIdempotencyKey('Repeating the purchase returns the same receipt, as long as it is kept.')
  @ApiResponse({
    status: 200,
    standardSchema: receiptSchema,
    description: 'The receipt that an earlier request got.',
  })
  @ApiResponse({ status: 201, standardSchema: receiptSchema, description: 'The receipt.' })
  @Problems(
    'invalid-id',
    'invalid-body',
    'invalid-idempotency-key',
    'malformed-json',
    'unknown-listing',
    'unknown-player',
    'already-sold',
    'own-listing',
    'not-open',
    'listing-expired',
    'price-changed',
    'insufficient-funds',
    'funds-overflow',
    'stale-token',
    'lock-timeout',
    'body-too-large',
    'unsupported-media-type',
    'request-reused',
    'outbox-full',
  )
  async purchase(
    @Param('id', { schema: idSchema }) listingId: string,
    @Body({ schema: purchaseBody }) body: z.infer<typeof purchaseBody>,
    @IdempotencyKey() requestKey: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ReceiptDocument> {
    const { value, isRepeated } = await this.market.purchase({ listingId, requestKey, ...body });
    if (!isRepeated) await this.relay.enqueueMail(value);
    reply.status(isRepeated ? HttpStatus.OK : HttpStatus.CREATED);
    reply.header('location', `/v1/market/sales/${value.id}`);
    return document(value);
  }

  @Get('sales/:id')
  @ApiOperation({ summary: 'Read a receipt', description: 'The newest 100,000 are kept.' })
  @ApiResponse({ status: 200, standardSchema: receiptSchema, description: 'The receipt.' })
  @Problems('invalid-id', 'unknown-sale')
  async sale(@Param('id', { schema: idSchema }) id: string): Promise<ReceiptDocument> {
    const receipt = await this.market.sale(id);
    if (!receipt) throw new Problem('unknown-sale', `there is no sale "${id}"`, { saleId: id });
    return document(receipt);
  }
}

function document(receipt: Receipt): ReceiptDocument {
  return { ...receipt, taskId: receipt.id };
}
