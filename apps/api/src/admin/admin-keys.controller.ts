import { Body, Controller, Delete, Get, HttpStatus, Param, Post, Put, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';

import { makeApiKey } from '../api-key.js';
import { Answers, AnswersNothing, Creates } from '../http/answers.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { pageOf, readCursor } from '../market/cursor.js';
import { Problem } from '../problems/problem.js';
import { KeyStore } from '../callers/key-store.js';
import type { KeyRecord } from '../callers/key-store.js';
import { KeyVerifier } from '../callers/key-verifier.js';
import {
  apiKeySchema,
  keyId,
  keysPage,
  keysQuery,
  putKeyBody,
  rotatedKeySchema,
  rotateKeyBody,
  shownKeySchema,
} from '../callers/schemas.js';

const LIST = 'keys';

@ApiTags('admin')
@Controller('v1/admin/keys')
export class AdminKeysController {
  constructor(
    private readonly store: KeyStore,
    private readonly verifier: KeyVerifier,
  ) {}

  @Put(':id')
  @ApiOperation({
    summary: 'Create an API key, or change its name, subject, scopes and limit',
    description:
      'The answer to a creation has the key, which is stored nowhere. A repeated request changes nothing and ' +
      'has no key: rotate it if the answer was lost. A key sees only the data of its `tenant`. A key with a ' +
      '`subject` acts only for that member, user or player.',
  })
  @Creates(
    shownKeySchema,
    'The key is created.',
    'The key existed. Its name, subject, scopes and limit are changed.',
  )
  @Problems('invalid-id', ...BODY_PROBLEMS, 'unknown-tenant', 'other-tenant', 'too-many-keys')
  async putKey(
    @Param('id', { schema: keyId }) id: string,
    @Body({ schema: putKeyBody }) body: z.infer<typeof putKeyBody>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof shownKeySchema>> {
    this.#requireStored(id);
    const { key, hash } = makeApiKey(id);
    const isNew = (await this.store.put(id, body, hash)) === 'created';
    this.verifier.forget(id);
    reply.status(isNew ? HttpStatus.CREATED : HttpStatus.OK).header('cache-control', 'no-store');
    return { ...(await this.#shown(id)), ...(isNew && { key }) };
  }

  @Post(':id/rotate')
  @ApiOperation({
    summary: 'Give an API key a new secret',
    description:
      'The other secrets stay valid for `overlapMs`, a day by default: give the new key to all clients ' +
      'meanwhile. A repeated request makes one more new secret.',
  })
  @Answers(rotatedKeySchema, 'The key with its new secret.')
  @Problems('invalid-id', ...BODY_PROBLEMS, 'unknown-key', 'too-many-secrets')
  async rotateKey(
    @Param('id', { schema: keyId }) id: string,
    @Body({ schema: rotateKeyBody }) { overlapMs }: z.infer<typeof rotateKeyBody>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof rotatedKeySchema>> {
    this.#requireStored(id);
    const { key, hash } = makeApiKey(id);
    await this.store.rotate(id, hash, overlapMs);
    this.verifier.forget(id);
    reply.header('cache-control', 'no-store');
    return { ...(await this.#shown(id)), key };
  }

  @Delete(':id')
  @ApiOperation({
    summary: 'Revoke an API key',
    description: 'Every process refuses the key within a second. Repeating the request is safe.',
  })
  @AnswersNothing('The key does not exist any more.')
  @Problems('invalid-id')
  async revokeKey(@Param('id', { schema: keyId }) id: string): Promise<void> {
    this.#requireStored(id);
    await this.store.revoke(id);
    this.verifier.forget(id);
  }

  @Get()
  @ApiOperation({
    summary: 'List the API keys',
    description: 'Lists the keys by their ids, without `ADMIN_KEY`.',
  })
  @Answers(keysPage, 'A page of keys.')
  @Problems('invalid-query', 'invalid-cursor')
  async listKeys(
    @Query({ schema: keysQuery }) { cursor, limit }: z.infer<typeof keysQuery>,
  ): Promise<z.infer<typeof keysPage>> {
    const { ids, records } = await this.store.list(limit, readCursor(LIST, cursor));
    const { items, nextCursor } = pageOf(LIST, ids, records, limit);
    // One may be revoked meanwhile.
    return { items: items.filter((record) => record !== undefined).map(shown), nextCursor };
  }

  @Get(':id')
  @ApiOperation({ summary: 'Look at an API key' })
  @Answers(apiKeySchema, 'The key, without its secret.')
  @Problems('invalid-id', 'unknown-key')
  async key(@Param('id', { schema: keyId }) id: string): Promise<z.infer<typeof apiKeySchema>> {
    return this.#shown(id);
  }

  /** The environment has `ADMIN_KEY`: a change here would have no effect. */
  #requireStored(id: string): void {
    if (this.verifier.isAdmin(id))
      throw new Problem('invalid-id', 'is the id of ADMIN_KEY', { parameter: 'id' });
  }

  async #shown(id: string): Promise<z.infer<typeof apiKeySchema>> {
    const record = await this.store.read(id);
    if (!record) throw new Problem('unknown-key', undefined, { id });
    return shown(record);
  }
}

function shown({ hashes, scopes, ...record }: KeyRecord): z.infer<typeof apiKeySchema> {
  return { ...record, scopes: [...scopes], secrets: hashes.length };
}
