import { createHash } from 'node:crypto';

import { Body, Controller, HttpStatus, Post, Res } from '@nestjs/common';
import type { MultiLease } from '@mortise/locks';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';

import { Answers } from '../http/answers.js';
import { IdempotencyKey } from '../http/idempotency-key.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { OpenWaits } from '../limits/open-waits.js';
import { AnswersLease } from './lease-routes.js';
import type { LeaseTerms, Lendable, Lent } from './remote-leases.js';
import { RemoteLeases } from './remote-leases.js';
import {
  acquireManyBody,
  manyLeaseSchema,
  releaseManyBody,
  releaseSchema,
  renewalSchema,
  renewManyBody,
} from './schemas.js';
import { TenantLocks } from './tenant-locks.js';

@ApiTags('locks')
@Controller('v1/multi-locks')
export class MultiLocksController {
  constructor(
    private readonly locks: TenantLocks,
    private readonly leases: RemoteLeases,
    private readonly waits: OpenWaits,
  ) {}

  @Post('acquire')
  @ApiOperation({
    summary: 'Take several locks, all or none',
    description:
      'Takes locks of `/v1/locks` together. All requests take locks in the same order, so they cannot ' +
      'deadlock. Only `renew` renews the lease. A client that closes the connection leaves the queues.',
  })
  @AnswersLease(manyLeaseSchema)
  async acquireLocks(
    @Body({ schema: acquireManyBody }) { names, ...body }: z.infer<typeof acquireManyBody>,
    @IdempotencyKey() requestKey: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof manyLeaseSchema>> {
    const { lease, isRepeated } = await this.waits.run(reply, body.waitMs, (signal) =>
      this.leases.acquire(this.#lendable(names, body), { ...body, terms: '', requestKey, signal }),
    );
    reply.status(isRepeated ? HttpStatus.OK : HttpStatus.CREATED);
    const { holder, tokens, expiresInMs } = lease;
    const order = names.toSorted();
    const locks = names.map((name) => ({ name, fencingToken: tokens[order.indexOf(name)]! }));
    return { holder, locks, expiresInMs };
  }

  @Post('renew')
  @ApiOperation({
    summary: 'Extend the lease of several locks',
    description: 'Extends the lease to `leaseMs` from now. The request never shortens it.',
  })
  @Answers(renewalSchema, 'The new end of the lease.')
  @Problems(...BODY_PROBLEMS, 'lease-lost')
  async renewLocks(
    @Body({ schema: renewManyBody }) { names, ...renewal }: z.infer<typeof renewManyBody>,
  ): Promise<z.infer<typeof renewalSchema>> {
    const fencingToken = 0;
    return { expiresInMs: await this.leases.renew(this.#lendable(names), { ...renewal, fencingToken }) };
  }

  @Post('release')
  @ApiOperation({
    summary: 'Release several locks',
    description:
      'The first waiter of each lock gets that lock. For a minute a repeated request gets the same answer.',
  })
  @Answers(releaseSchema, 'The locks are released.')
  @Problems(...BODY_PROBLEMS, 'lease-lost')
  async releaseLocks(
    @Body({ schema: releaseManyBody }) { names, holder }: z.infer<typeof releaseManyBody>,
  ): Promise<z.infer<typeof releaseSchema>> {
    await this.leases.release(this.#lendable(names), holder);
    return { isReleased: true };
  }

  #lendable(given: readonly string[], { leaseMs, owner }: LeaseTerms = {}): Lendable {
    const names = given.toSorted();
    const locks = this.locks.current.multiLock(names, { leaseMs, owner });
    const lent = (lease: MultiLease): Lent => ({
      lease,
      tokens: names.map((name) => lease.fencingTokens.get(name)!),
    });
    return {
      shown: `the set of locks ${names.map((name) => `"${name}"`).join(', ')}`,
      fields: { lockNames: names },
      entity: `locks:${createHash('sha256').update(JSON.stringify(names)).digest('base64url')}`,
      acquire: async (options) => lent(await locks.acquire(options)),
      tryAcquire: async () => {
        const lease = await locks.tryAcquire();
        return lease && lent(lease);
      },
      renewFor: (holder, termMs) => locks.renewFor(holder, termMs),
      releaseFor: (holder) => locks.releaseFor(holder),
      obstacle: async () => {
        const states = [...(await locks.inspect())];
        const [lockName, { remainingMs }] = states.find(([, { holder }]) => holder !== null) ?? states[0]!;
        return { lockName, remainingMs };
      },
    };
  }
}
