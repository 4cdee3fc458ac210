import { Body, Controller, Delete, HttpStatus, Param, Post, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';

import { AnswersNothing, Creates } from '../http/answers.js';
import { Waits } from '../http/deadline.interceptor.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { waitOf } from '../http/wait-of.js';
import { OpenWaits } from '../limits/open-waits.js';
import { Problem } from '../problems/problem.js';
import { CacheLoads } from './cache-loads.js';
import { CacheReads } from './cache-reads.js';
import { cacheNameSchema, entryKeySchema, loadBody, loadSchema, loadTokenSchema } from './schemas.js';

/** The leases of loads, which are those of @mortise/cache: programs and HTTP clients wait for each other. */
@ApiTags('caches')
@Controller('v1/caches/:cache/entries/:key/loads')
export class CacheLoadsController {
  constructor(
    private readonly loads: CacheLoads,
    private readonly waits: OpenWaits,
    private readonly reads: CacheReads,
  ) {}

  @Post()
  @ApiOperation({
    summary: 'Read an entry of a cache, or get the right to load it',
    description:
      'If nothing is cached, one client gets a token, loads the value, and PUTs the entry with the token. All ' +
      'other clients wait for the value. If the lease ends first, the next client gets a token. A stale value ' +
      'is returned at once, and one client also gets a token. After a lost answer no client knows the token, ' +
      'so a repeated request waits until the lease ends.',
  })
  @Waits(waitOf)
  @Creates(
    loadSchema,
    'The client must load the value, and PUT the entry with the token.',
    'The value; another client loads it anew.',
  )
  @Problems(
    'invalid-id',
    ...BODY_PROBLEMS,
    'load-pending',
    'lock-timeout',
    'too-many-waits',
    'quota-exceeded',
    'shutting-down',
  )
  async loadCacheEntry(
    @Param('cache', { schema: cacheNameSchema }) name: string,
    @Param('key', { schema: entryKeySchema }) key: string,
    @Body({ schema: loadBody }) { waitMs, leaseMs, tags }: z.infer<typeof loadBody>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof loadSchema>> {
    const { value, lease } = await this.waits.run(reply, waitMs, (signal) =>
      this.loads.with(name, (leases) => leases.request(key, { waitMs, leaseMs, tags, signal })),
    );
    const isCached = value !== undefined;
    this.reads.count(name, isCached);
    if (!isCached && !lease) throw new Problem('load-pending', undefined, { cache: name, key, waitMs });
    reply.status(lease ? HttpStatus.CREATED : HttpStatus.OK);
    const expiresInMs = lease ? Math.max(0, Math.floor(lease.expiresAt - performance.now())) : 0;
    return { isCached, ...(isCached && { value }), load: lease ? { token: lease.token, expiresInMs } : null };
  }

  @Delete(':token')
  @ApiOperation({
    summary: 'Give up a load',
    description:
      'Send this after a load has failed. A waiting client gets a token at once, a client with a stale value a ' +
      'second later. A token whose lease has ended changes nothing. Repeating the request is safe.',
  })
  @AnswersNothing('The lease has ended.')
  @Problems('invalid-id')
  async giveUpLoad(
    @Param('cache', { schema: cacheNameSchema }) name: string,
    @Param('key', { schema: entryKeySchema }) key: string,
    @Param('token', { schema: loadTokenSchema }) token: string,
  ): Promise<void> {
    await this.loads.with(name, (leases) => leases.release(key, token));
  }
}
