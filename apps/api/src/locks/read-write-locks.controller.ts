import { Body, Controller, Get, HttpStatus, Param, Post, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';

import { Answers } from '../http/answers.js';
import { IdempotencyKey } from '../http/idempotency-key.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { OpenWaits } from '../limits/open-waits.js';
import { AcquireRoute, ReleaseRoute, RenewRoute } from './lease-routes.js';
import { leaseOf, RemoteLeases } from './remote-leases.js';
import { modeOf, RemoteReadWriteLocks } from './remote-read-write-locks.js';
import {
  acquireSideBody,
  leaseSchema,
  nameSchema,
  readWriteLockSchema,
  releaseSchema,
  releaseSideBody,
  renewalSchema,
  renewSideBody,
  sideBody,
} from './schemas.js';
import { unreadable } from './seen-state.js';

@ApiTags('locks')
@Controller('v1/read-write-locks')
export class ReadWriteLocksController {
  constructor(
    private readonly locks: RemoteReadWriteLocks,
    private readonly leases: RemoteLeases,
    private readonly waits: OpenWaits,
  ) {}

  @AcquireRoute({
    summary: 'Take a read-write lock, as one of its readers or as its writer',
    description: "A reader waits for the writers before it in the queue, so that writers don't starve.",
  })
  async acquireSide(
    @Param('name', { schema: nameSchema }) name: string,
    @Body({ schema: acquireSideBody }) { mode, ...body }: z.infer<typeof acquireSideBody>,
    @IdempotencyKey() requestKey: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof leaseSchema>> {
    const { lease, isRepeated } = await this.waits.run(reply, body.waitMs, (signal) =>
      this.leases.acquire(this.locks.lendable(name, mode, body), {
        ...body,
        terms: mode,
        requestKey,
        signal,
      }),
    );
    reply.status(isRepeated ? HttpStatus.OK : HttpStatus.CREATED);
    return leaseOf(name, lease);
  }

  @RenewRoute()
  async renewSide(
    @Param('name', { schema: nameSchema }) name: string,
    @Body({ schema: renewSideBody }) renewal: z.infer<typeof renewSideBody>,
  ): Promise<z.infer<typeof renewalSchema>> {
    return {
      expiresInMs: await this.leases.renew(this.locks.lendable(name, modeOf(renewal.holder)), renewal),
    };
  }

  @ReleaseRoute({
    summary: 'Release a read-write lock',
    description:
      'After the last reader, or after the writer, the first waiters get the lock: one writer, or several ' +
      'readers.',
  })
  async releaseSide(
    @Param('name', { schema: nameSchema }) name: string,
    @Body({ schema: releaseSideBody }) { holder }: z.infer<typeof releaseSideBody>,
  ): Promise<z.infer<typeof releaseSchema>> {
    await this.leases.release(this.locks.lendable(name, modeOf(holder)), holder);
    return { isReleased: true };
  }

  @Post(':name/force-release')
  @ApiOperation({
    summary: 'Take a read-write lock away from its readers or its writer',
    description:
      'For operators. The holders learn of the loss at their next renewal. Until then only fencing tokens stop ' +
      'their writes. A repeated request takes the lock from the next holders.',
  })
  @Answers(releaseSchema, 'No holder of this side is left.')
  @Problems('invalid-id', ...BODY_PROBLEMS)
  async forceReleaseSide(
    @Param('name', { schema: nameSchema }) name: string,
    @Body({ schema: sideBody }) { mode }: z.infer<typeof sideBody>,
  ): Promise<z.infer<typeof releaseSchema>> {
    return { isReleased: await this.locks.forceRelease(name, mode) };
  }

  @Get(':name')
  @ApiOperation({
    summary: 'Look at a read-write lock',
    description: 'Every name is a read-write lock: a lock that nobody has used is free.',
  })
  @Answers(readWriteLockSchema, 'The state of the lock.')
  @Problems('invalid-id')
  async readWriteLock(
    @Param('name', { schema: nameSchema }) name: string,
  ): Promise<z.infer<typeof readWriteLockSchema>> {
    const state = await this.locks.inspect(name);
    if (!state) throw unreadable('read-write lock', name);
    return { name, ...state };
  }
}
