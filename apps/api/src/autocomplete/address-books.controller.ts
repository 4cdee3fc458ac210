/** The address books of guilds, for their members. */
import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  HttpStatus,
  Param,
  Post,
  Put,
  Query,
  Res,
} from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { AddEntry } from '@mortise/autocomplete';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';

import { Waits } from '../http/deadline.interceptor.js';
import type { BodyConfig } from '../http/body-config.js';
import { IdempotencyKey, TakesIdempotencyKey } from '../http/idempotency-key.js';
import { Problems } from '../http/problems.decorator.js';
import { MAX_WAIT_MS } from '../http/wait-of.js';
import { Problem } from '../problems/problem.js';
import {
  bookSchema,
  boostBody,
  boostSchema,
  byQuery,
  nameBatchBody,
  nameBatchSchema,
  nameBody,
  nameSchema,
  putNameSchema,
} from './book-schemas.js';
import { GuildBooks } from './guild-books.js';
import { idSchema } from './schemas.js';

type By = z.infer<typeof byQuery>;

const BODY_PROBLEMS = ['invalid-body', 'malformed-json', 'body-too-large', 'unsupported-media-type'] as const;
const MEMBER_PROBLEMS = ['invalid-id', 'invalid-query', 'not-in-guild'] as const;
/** A call over many names has no deadline. */
const ofMany = (): number => MAX_WAIT_MS;
const LARGE: BodyConfig = { maxBodyBytes: 1_048_576 };

@ApiTags('address-books')
@Controller('v1/address-books/:guild')
export class AddressBooksController {
  constructor(private readonly books: GuildBooks) {}

  @Get()
  @ApiOperation({ summary: 'Look at the address book of a guild' })
  @ApiResponse({ status: 200, standardSchema: bookSchema, description: 'How large it is.' })
  @Problems(...MEMBER_PROBLEMS)
  async addressBook(
    @Param('guild', { schema: idSchema }) guild: string,
    @Query({ schema: byQuery }) { by }: By,
  ): Promise<z.infer<typeof bookSchema>> {
    return { guild, size: await this.books.read(guild, by, (book) => book.size()) };
  }

  @Put('names/:name')
  @ApiOperation({
    summary: 'Add a name, or change one',
    description:
      'It takes the place of the name, but for its score, if that is left out. The first name of a guild is its ' +
      'creator, who adds themselves; later members are added by members. Repeating it is safe.',
  })
  @ApiResponse({ status: 200, standardSchema: putNameSchema, description: 'It was there, and is changed.' })
  @ApiResponse({ status: 201, standardSchema: putNameSchema, description: 'It is in the book.' })
  @Problems(
    ...MEMBER_PROBLEMS,
    ...BODY_PROBLEMS,
    'too-many-names',
    'entry-too-large',
    'lock-timeout',
    'lease-lost',
  )
  async putName(
    @Param('guild', { schema: idSchema }) guild: string,
    @Param('name', { schema: idSchema }) name: string,
    @Query({ schema: byQuery }) { by }: By,
    @Body({ schema: nameBody }) body: z.infer<typeof nameBody>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof putNameSchema>> {
    const { added } = await this.books.add(guild, by, [entryOf({ name, ...body })]);
    reply.status(added === 1 ? HttpStatus.CREATED : HttpStatus.OK);
    return { name, isNew: added === 1 };
  }

  @Post('name-batches')
  @Waits(ofMany)
  @HttpCode(HttpStatus.OK)
  @RouteConfig(LARGE)
  @ApiOperation({
    summary: 'Add or change up to 1,000 names',
    description:
      'Each as by PUT. Not in one step: after a 503, or after one that is too large, some may be stored. Repeating it ' +
      'is safe. The creator of a guild is one of them.',
  })
  @ApiResponse({ status: 200, standardSchema: nameBatchSchema, description: 'How many there were of each.' })
  @Problems(
    ...MEMBER_PROBLEMS,
    ...BODY_PROBLEMS,
    'too-many-names',
    'entry-too-large',
    'lock-timeout',
    'lease-lost',
  )
  async putNames(
    @Param('guild', { schema: idSchema }) guild: string,
    @Query({ schema: byQuery }) { by }: By,
    @Body({ schema: nameBatchBody }) { names }: z.infer<typeof nameBatchBody>,
  ): Promise<z.infer<typeof nameBatchSchema>> {
    return this.books.add(guild, by, names.map(entryOf));
  }

  @Get('names/:name')
  @ApiOperation({ summary: 'Read a name' })
  @ApiResponse({ status: 200, standardSchema: nameSchema, description: 'All that is stored of it.' })
  @Problems(...MEMBER_PROBLEMS, 'unknown-name')
  async readName(
    @Param('guild', { schema: idSchema }) guild: string,
    @Param('name', { schema: idSchema }) name: string,
    @Query({ schema: byQuery }) { by }: By,
  ): Promise<z.infer<typeof nameSchema>> {
    const found = await this.books.read(guild, by, (book) => book.get(name));
    if (found === null) throw unknownName(guild, name);
    const { key, display, aliases, score, payload } = found;
    return { name: key, display, aliases: [...aliases], score, ...(payload !== undefined && { payload }) };
  }

  @Delete('names/:name')
  @HttpCode(HttpStatus.NO_CONTENT)
  @ApiOperation({
    summary: 'Remove a name',
    description:
      'A member who removes their own name leaves the guild. The guild ends with its last name: then anybody may ' +
      'create it again. Repeating it is safe, except for the own name: a former member gets 403.',
  })
  @ApiResponse({ status: 204, description: 'It is removed.' })
  @Problems(...MEMBER_PROBLEMS)
  async removeName(
    @Param('guild', { schema: idSchema }) guild: string,
    @Param('name', { schema: idSchema }) name: string,
    @Query({ schema: byQuery }) { by }: By,
  ): Promise<void> {
    await this.books.write(guild, by, (book) => book.remove(name));
  }

  @Post('names/:name/boost')
  @HttpCode(HttpStatus.OK)
  @ApiOperation({
    summary: 'Raise or lower the score of a name',
    description: 'Such as whenever somebody has chosen it. One whose answer was lost may have been made.',
  })
  @TakesIdempotencyKey(
    'The same boost again changes nothing for an hour, and gets the score that the first one got.',
  )
  @ApiResponse({ status: 200, standardSchema: boostSchema, description: 'The score that it has now.' })
  @Problems(...MEMBER_PROBLEMS, ...BODY_PROBLEMS, 'invalid-idempotency-key', 'unknown-name', 'request-reused')
  async boostName(
    @Param('guild', { schema: idSchema }) guild: string,
    @Param('name', { schema: idSchema }) name: string,
    @Query({ schema: byQuery }) { by }: By,
    @Body({ schema: boostBody }) { amount }: z.infer<typeof boostBody>,
    @IdempotencyKey() id: string | undefined,
  ): Promise<z.infer<typeof boostSchema>> {
    const score = await this.books.write(guild, by, (book) =>
      book.boost(name, amount, { ...(id !== undefined && { id }) }),
    );
    if (score === null) throw unknownName(guild, name);
    return { name, score };
  }
}

type Named = z.infer<typeof nameBatchBody>['names'][number];

function entryOf({ name: key, display, aliases, score, payload }: Named): AddEntry<unknown> {
  return {
    key,
    ...(display !== undefined && { display }),
    ...(aliases && { aliases }),
    ...(score !== undefined && { score }),
    ...(payload !== undefined && { payload }),
  };
}

function unknownName(guild: string, name: string): Problem {
  return new Problem('unknown-name', `guild "${guild}" has no name "${name}"`, { guild, name });
}
