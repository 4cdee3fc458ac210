import { Body, Controller, Get, HttpStatus, Param, Post, Put, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';

import { Answers } from '../http/answers.js';
import { IdempotencyKey } from '../http/idempotency-key.js';
import { OpenWaits } from '../limits/open-waits.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { AcquireRoute, ReleaseRoute, RenewRoute } from './lease-routes.js';
import { OperatorLists } from './operator-lists.js';
import { leaseOf, RemoteLeases } from './remote-leases.js';
import { RemoteSemaphores } from './remote-semaphores.js';
import {
  acquirePermitsBody,
  leaseSchema,
  listQuery,
  nameSchema,
  permitsBody,
  releaseBody,
  releaseSchema,
  renewalSchema,
  renewBody,
  semaphoreSchema,
  semaphoresPage,
} from './schemas.js';
import { unreadable } from './seen-state.js';

@ApiTags('semaphores')
@Controller('v1/semaphores')
export class SemaphoresController {
  constructor(
    private readonly semaphores: RemoteSemaphores,
    private readonly leases: RemoteLeases,
    private readonly lists: OperatorLists,
    private readonly waits: OpenWaits,
  ) {}

  @AcquireRoute(
    {
      summary: 'Take permits of a semaphore, or wait for them in its queue',
      description: 'The first request sets the number of permits.',
    },
    'semaphore-limit',
  )
  async acquirePermits(
    @Param('name', { schema: nameSchema }) name: string,
    @Body({ schema: acquirePermitsBody }) body: z.infer<typeof acquirePermitsBody>,
    @IdempotencyKey() requestKey: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof leaseSchema>> {
    const { permits, take, leaseMs, waitMs } = body;
    const { lease, isRepeated } = await this.waits.run(reply, body.waitMs, (signal) =>
      this.leases.acquire(this.semaphores.lendable(name, body), {
        leaseMs,
        waitMs,
        terms: `${take}/${permits}`,
        requestKey,
        signal,
      }),
    );
    reply.status(isRepeated ? HttpStatus.OK : HttpStatus.CREATED);
    return leaseOf(name, lease);
  }

  @RenewRoute()
  async renewPermits(
    @Param('name', { schema: nameSchema }) name: string,
    @Body({ schema: renewBody }) renewal: z.infer<typeof renewBody>,
  ): Promise<z.infer<typeof renewalSchema>> {
    return { expiresInMs: await this.leases.renew(this.semaphores.lendable(name), renewal) };
  }

  @ReleaseRoute({
    summary: 'Give permits back',
    description: 'Waiters get the permits.',
  })
  async releasePermits(
    @Param('name', { schema: nameSchema }) name: string,
    @Body({ schema: releaseBody }) { holder }: z.infer<typeof releaseBody>,
  ): Promise<z.infer<typeof releaseSchema>> {
    await this.leases.release(this.semaphores.lendable(name), holder);
    return { isReleased: true };
  }

  @Post(':name/force-release')
  @ApiOperation({
    summary: 'Take permits away from their holder',
    description:
      'For operators. The state has the holders. This one learns of the loss at its next renewal. Until then ' +
      'only fencing tokens stop its writes. Waiters get the permits, and other holders keep theirs. ' +
      'A repeated request takes nothing from anybody else.',
  })
  @Answers(releaseSchema, 'The holder has no permits. `isReleased` is false if it had none before.')
  @Problems('invalid-id', ...BODY_PROBLEMS)
  async forceReleasePermits(
    @Param('name', { schema: nameSchema }) name: string,
    @Body({ schema: releaseBody }) { holder }: z.infer<typeof releaseBody>,
  ): Promise<z.infer<typeof releaseSchema>> {
    return { isReleased: await this.semaphores.forceRelease(name, holder) };
  }

  @Put(':name')
  @ApiOperation({
    summary: 'Change the number of permits',
    description:
      'For operators. Requests with another number are refused from now on. No holder loses permits. With a ' +
      'number below the used permits, nothing is granted until enough are released.',
  })
  @Answers(semaphoreSchema, 'The state after the change.')
  @Problems('invalid-id', ...BODY_PROBLEMS)
  async setPermits(
    @Param('name', { schema: nameSchema }) name: string,
    @Body({ schema: permitsBody }) { permits }: z.infer<typeof permitsBody>,
  ): Promise<z.infer<typeof semaphoreSchema>> {
    await this.semaphores.setPermits(name, permits);
    return await this.semaphore(name);
  }

  @Get()
  @ApiOperation({
    summary: 'List the semaphores that are held or waited for',
    description:
      'For operators. A page scans at most 10,000 keys of Redis, for up to 0.1 s. It may be empty, or have ' +
      'more items than the limit. The list ends where `nextCursor` is null. Semaphores whose state cannot be ' +
      'read are left out.',
  })
  @Answers(semaphoresPage, 'A page of semaphores, in no order.')
  @Problems('invalid-query', 'invalid-cursor')
  async listSemaphores(
    @Query({ schema: listQuery }) { cursor, limit }: z.infer<typeof listQuery>,
  ): Promise<z.infer<typeof semaphoresPage>> {
    return await this.lists.semaphores(limit, cursor);
  }

  @Get(':name')
  @ApiOperation({
    summary: 'Inspect a semaphore',
    description: 'Returns the state with the first 100 holders.',
  })
  @Answers(semaphoreSchema, 'The state of the lock.')
  @Problems('invalid-id')
  async semaphore(
    @Param('name', { schema: nameSchema }) name: string,
  ): Promise<z.infer<typeof semaphoreSchema>> {
    const state = await this.semaphores.inspect(name);
    if (!state) throw unreadable('semaphore', name);
    return { name, ...state };
  }
}
