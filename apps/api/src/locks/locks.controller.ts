import { Body, Controller, Get, HttpStatus, Param, Post, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';

import { Answers } from '../http/answers.js';
import { IdempotencyKey } from '../http/idempotency-key.js';
import { OpenWaits } from '../limits/open-waits.js';
import { Problems } from '../http/problems.decorator.js';
import { AcquireRoute, ReleaseRoute, RenewRoute } from './lease-routes.js';
import { OperatorLists } from './operator-lists.js';
import { leaseOf, RemoteLeases } from './remote-leases.js';
import { RemoteLocks } from './remote-locks.js';
import {
  acquireBody,
  leaseSchema,
  listQuery,
  locksPage,
  lockSchema,
  nameSchema,
  releaseBody,
  releaseSchema,
  renewalSchema,
  renewBody,
} from './schemas.js';
import { unreadable } from './seen-state.js';

@ApiTags('locks')
@Controller('v1/locks')
export class LocksController {
  constructor(
    private readonly locks: RemoteLocks,
    private readonly leases: RemoteLeases,
    private readonly lists: OperatorLists,
    private readonly waits: OpenWaits,
  ) {}

  @AcquireRoute({ summary: 'Take a lock, or wait for it in its queue', description: '' })
  async acquireLock(
    @Param('name', { schema: nameSchema }) name: string,
    @Body({ schema: acquireBody }) body: z.infer<typeof acquireBody>,
    @IdempotencyKey() requestKey: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof leaseSchema>> {
    const { lease, isRepeated } = await this.waits.run(reply, body.waitMs, (signal) =>
      this.leases.acquire(this.locks.lendable(name, body), {
        ...body,
        terms: '',
        requestKey,
        signal,
      }),
    );
    reply.status(isRepeated ? HttpStatus.OK : HttpStatus.CREATED);
    return leaseOf(name, lease);
  }

  @RenewRoute()
  async renewLock(
    @Param('name', { schema: nameSchema }) name: string,
    @Body({ schema: renewBody }) renewal: z.infer<typeof renewBody>,
  ): Promise<z.infer<typeof renewalSchema>> {
    return { expiresInMs: await this.leases.renew(this.locks.lendable(name), renewal) };
  }

  @ReleaseRoute({ summary: 'Release a lock', description: 'The first waiter gets the lock.' })
  async releaseLock(
    @Param('name', { schema: nameSchema }) name: string,
    @Body({ schema: releaseBody }) { holder }: z.infer<typeof releaseBody>,
  ): Promise<z.infer<typeof releaseSchema>> {
    await this.leases.release(this.locks.lendable(name), holder);
    return { isReleased: true };
  }

  @Post(':name/force-release')
  @ApiOperation({
    summary: 'Take a lock away from its holder',
    description:
      'For operators. The holder learns of the loss at its next renewal. Until then only fencing tokens stop ' +
      'its writes. A repeated request takes the lock from the next holder.',
  })
  @Answers(releaseSchema, 'The lock is free, or the next waiter holds it.')
  @Problems('invalid-id')
  async forceReleaseLock(
    @Param('name', { schema: nameSchema }) name: string,
  ): Promise<z.infer<typeof releaseSchema>> {
    return { isReleased: await this.locks.forceRelease(name) };
  }

  @Get()
  @ApiOperation({
    summary: 'List the locks that are held or waited for',
    description:
      'For operators. A page scans at most 10,000 keys of Redis, for up to 0.1 s. It may be empty, or have ' +
      'more items than the limit. The list ends where `nextCursor` is null. Locks whose state cannot be read ' +
      'are left out.',
  })
  @Answers(locksPage, 'A page of locks, in no order.')
  @Problems('invalid-query', 'invalid-cursor')
  async listLocks(
    @Query({ schema: listQuery }) { cursor, limit }: z.infer<typeof listQuery>,
  ): Promise<z.infer<typeof locksPage>> {
    return await this.lists.locks(limit, cursor);
  }

  @Get(':name')
  @ApiOperation({
    summary: 'Look at a lock',
    description: 'Every name is a lock: a lock that nobody has used is free.',
  })
  @Answers(lockSchema, 'The state of the lock.')
  @Problems('invalid-id')
  async lock(@Param('name', { schema: nameSchema }) name: string): Promise<z.infer<typeof lockSchema>> {
    const state = await this.locks.inspect(name);
    if (!state) throw unreadable('lock', name);
    return { name, ...state };
  }
}
