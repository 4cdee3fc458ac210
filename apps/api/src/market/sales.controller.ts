import { Body, Controller, Get, HttpStatus, Post, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';

import { Answers, Creates } from '../http/answers.js';
import { Waits } from '../http/deadline.interceptor.js';
import { Id } from '../http/id.decorator.js';
import { IdempotencyKey, TakesIdempotencyKey } from '../http/idempotency-key.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { Problem } from '../problems/problem.js';
import type { Receipt } from './index.js';
import { Market } from './index.js';
import { lockWaitOf } from './lock-wait.js';
import { OutboxRelay } from './outbox-relay.js';
import { PurchaseOutcomes } from './purchase-outcomes.js';
import { figuresSchema, purchaseBody, receiptSchema } from './schemas.js';

type ReceiptDocument = z.infer<typeof receiptSchema>;

@ApiTags('sales')
@Controller('v1/market')
export class SalesController {
  constructor(
    private readonly market: Market,
    private readonly relay: OutboxRelay,
    private readonly outcomes: PurchaseOutcomes,
  ) {}

  @Post('listings/:id/purchases')
  @ApiOperation({
    summary: 'Buy a listing',
    description:
      'One atomic step moves the coins and the item, and writes the receipt. Then a mail to the seller is ' +
      'enqueued. With `lock` the purchase waits at most 0.8 s for the listing.',
  })
  @Waits(lockWaitOf)
  @TakesIdempotencyKey('Repeating the purchase returns the same receipt, as long as it is kept.')
  @Creates(receiptSchema, 'The receipt.', 'The receipt that an earlier request got.', 'Location')
  @Problems(
    'invalid-id',
    ...BODY_PROBLEMS,
    'invalid-idempotency-key',
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
    'request-reused',
    'outbox-full',
  )
  async purchase(
    @Id('id') listingId: string,
    @Body({ schema: purchaseBody }) body: z.infer<typeof purchaseBody>,
    @IdempotencyKey() requestKey: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ReceiptDocument> {
    const { value, isRepeated } = await this.outcomes.count(
      this.market.purchase({ listingId, requestKey, ...body }),
    );
    if (!isRepeated) await this.relay.enqueueMail(value);
    reply.status(isRepeated ? HttpStatus.OK : HttpStatus.CREATED);
    reply.header('location', `/v1/market/sales/${value.id}`);
    return document(value);
  }

  @Get('figures')
  @ApiOperation({
    summary: 'Read the market in numbers',
    description: 'The numbers of `purchases` are those of the process that answers, since its start.',
  })
  @Answers(figuresSchema, 'The numbers.')
  @Problems()
  async figures(): Promise<z.infer<typeof figuresSchema>> {
    const { outcomes } = this;
    return {
      ...(await this.market.figures()),
      purchases: {
        since: outcomes.since,
        sold: outcomes.of('sold'),
        conflicts: outcomes.of('conflict'),
        refused: outcomes.of('refused'),
      },
    };
  }

  @Get('sales/:id')
  @ApiOperation({ summary: 'Read a receipt', description: 'The newest 100,000 receipts are kept.' })
  @Answers(receiptSchema, 'The receipt.')
  @Problems('invalid-id', 'unknown-sale')
  async sale(@Id('id') id: string): Promise<ReceiptDocument> {
    const receipt = await this.market.sale(id);
    if (!receipt) throw new Problem('unknown-sale', `there is no sale "${id}"`, { saleId: id });
    return document(receipt);
  }
}

function document(receipt: Receipt): ReceiptDocument {
  return { ...receipt, taskId: receipt.id };
}
