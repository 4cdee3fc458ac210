import { Cache } from '@mortise/cache';
import type { RedisClient } from '@mortise/redis';
import { Body, Controller, Delete, Get, Inject, Param, Post, Put, Query } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Logger } from 'pino';
import type { z } from 'zod';

import type { Config } from '../config.js';
import { Answers, AnswersNothing } from '../http/answers.js';
import { LARGE_BODY } from '../http/body-config.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { Problem } from '../problems/problem.js';
import { currentTenant, prefixOf } from '../tenants/tenancy.js';
import { CONFIG, LOG, REDIS } from '../tokens.js';
import { CacheChanges } from './cache-changes.js';
import { CacheKeys } from './cache-keys.js';
import { CacheLoads } from './cache-loads.js';
import { CacheReads } from './cache-reads.js';
import {
  cacheKeysPage,
  cacheKeysQuery,
  cacheNameSchema,
  cacheSchema,
  deletedSchema,
  entryBody,
  entryKeySchema,
  entrySchema,
  invalidationBody,
} from './schemas.js';

/** The caches of @mortise/cache under the prefix of the tenant: programs that use the package share them, and their loaders fill them. */
@ApiTags('caches')
@Controller('v1/caches/:cache')
export class CachesController {
  readonly #prefix: string;

  constructor(
    private readonly loads: CacheLoads,
    @Inject(REDIS) private readonly redis: RedisClient,
    @Inject(LOG) private readonly log: Logger,
    private readonly changes: CacheChanges,
    private readonly keys: CacheKeys,
    private readonly reads: CacheReads,
    @Inject(CONFIG) { MORTISE_PREFIX: prefix }: Config,
  ) {
    this.#prefix = prefix;
  }

  @Get()
  @ApiOperation({
    summary: 'Look at a cache',
    description:
      'The reads by requests to the process that answers, since its start. Programs that use @mortise/cache have their own metrics. Every ' +
      'name is a cache.',
  })
  @Answers(cacheSchema, 'Its counts.')
  @Problems('invalid-id')
  async cacheCounts(
    @Param('cache', { schema: cacheNameSchema }) name: string,
  ): Promise<z.infer<typeof cacheSchema>> {
    return { cache: name, ...this.reads.of(name) };
  }

  @Get('entries')
  @ApiOperation({
    summary: 'List the keys of a cache',
    description:
      'For operators: scans the keys of Redis, at most 10,000 of them or 0.1 s per page. A page may be empty, or have more than the limit; ' +
      'the list ends where `nextCursor` is null. Without the keys of namespaces. An entry of an invalidated tag may be listed.',
  })
  @Answers(cacheKeysPage, 'A page of keys, in no order.')
  @Problems('invalid-id', 'invalid-query', 'invalid-cursor')
  async listCacheKeys(
    @Param('cache', { schema: cacheNameSchema }) name: string,
    @Query({ schema: cacheKeysQuery }) { cursor, limit }: z.infer<typeof cacheKeysQuery>,
  ): Promise<z.infer<typeof cacheKeysPage>> {
    const { items, nextCursor } = await this.keys.page(name, limit, cursor);
    return { items: [...items], nextCursor };
  }

  @Get('entries/:key')
  @ApiOperation({
    summary: 'Read an entry of a cache',
    description:
      'Returns a fresh or stale entry, and loads nothing. Programs that use @mortise/cache load entries, other ' +
      'programs by `POST …/loads`. While Redis is unavailable, nothing is cached.',
  })
  @Answers(entrySchema, 'The value.')
  @Problems('invalid-id', 'not-cached')
  async cacheEntry(
    @Param('cache', { schema: cacheNameSchema }) name: string,
    @Param('key', { schema: entryKeySchema }) key: string,
  ): Promise<z.infer<typeof entrySchema>> {
    const value = await this.#open(name).get(key);
    this.reads.count(name, value !== undefined);
    if (value === undefined) throw new Problem('not-cached', undefined, { cache: name, key });
    return { value };
  }

  @Put('entries/:key')
  @RouteConfig(LARGE_BODY)
  @ApiOperation({
    summary: 'Store an entry of a cache',
    description:
      'A load that is under way does not overwrite the entry. With the token of a load, the entry is stored ' +
      'only while the load has its lease. The lease ends when the entry is stored or removed, or one of its ' +
      'tags is invalidated. Repeating the request is safe.',
  })
  @AnswersNothing('The entry is stored.')
  @Problems('invalid-id', ...BODY_PROBLEMS, 'load-outdated')
  async putCacheEntry(
    @Param('cache', { schema: cacheNameSchema }) name: string,
    @Param('key', { schema: entryKeySchema }) key: string,
    @Body({ schema: entryBody }) { value, loadToken, ...options }: z.infer<typeof entryBody>,
  ): Promise<void> {
    if (loadToken === undefined) await this.#open(name, options.ttlMs).set(key, value, options);
    else if (!(await this.loads.with(name, (leases) => leases.store(key, loadToken, value, options))))
      throw new Problem('load-outdated', undefined, { cache: name, key });
    await this.changes.publish(name, { type: 'stored', key });
  }

  @Delete('entries/:key')
  @ApiOperation({
    summary: 'Remove an entry of a cache',
    description:
      'The result of a load under way is not stored. Repeating the request is safe; a repeated request finds ' +
      'no entry.',
  })
  @Answers(deletedSchema, 'The entry is not in the cache.')
  @Problems('invalid-id')
  async deleteCacheEntry(
    @Param('cache', { schema: cacheNameSchema }) name: string,
    @Param('key', { schema: entryKeySchema }) key: string,
  ): Promise<z.infer<typeof deletedSchema>> {
    const isDeleted = await this.#open(name).delete(key);
    // Also when there was none: the answer to an earlier request may be lost.
    await this.changes.publish(name, { type: 'deleted', key });
    return { isDeleted };
  }

  @Post('invalidations')
  @ApiOperation({
    summary: 'Invalidate all entries with a tag',
    description:
      'Invalidates any number of entries, and loads under way, in one step. Repeating the request is safe.',
  })
  @AnswersNothing('No invalidated entry is returned any more.')
  @Problems('invalid-id', ...BODY_PROBLEMS)
  async invalidateTag(
    @Param('cache', { schema: cacheNameSchema }) name: string,
    @Body({ schema: invalidationBody }) { tag }: z.infer<typeof invalidationBody>,
  ): Promise<void> {
    await this.#open(name).invalidateTag(tag);
    await this.changes.publish(name, { type: 'invalidated', tag });
  }

  /** It has no connection and keeps nothing. @param ttlMs Also that of a known absence. */
  #open(name: string, ttlMs = 60_000): Cache {
    const tenant = currentTenant();
    return new Cache(this.redis, name, {
      prefix: prefixOf(this.#prefix, tenant),
      ttlMs,
      negativeTtlMs: ttlMs,
      jitter: 0,
      commandTimeoutMs: 60_000,
      onError: (err) => this.log.warn({ err, tenant, cache: name }, 'a cache'),
    });
  }
}
