/** The address books of guilds, for their members. */
import { Body, Controller, Delete, Get, HttpStatus, Post, Put, Query, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { AddEntry } from '@mortise/autocomplete';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';

import { Answers, AnswersNothing, Creates } from '../http/answers.js';
import { LARGE_BODY } from '../http/body-config.js';
import { Waits } from '../http/deadline.interceptor.js';
import { Id } from '../http/id.decorator.js';
import { IdempotencyKey, TakesIdempotencyKey } from '../http/idempotency-key.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { ofMany } from '../http/wait-of.js';
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

type By = z.infer<typeof byQuery>;

const MEMBER_PROBLEMS = ['invalid-id', 'invalid-query', 'not-in-guild'] as const;
const ADD_PROBLEMS = [
  ...BODY_PROBLEMS,
  'too-many-names',
  'entry-too-large',
  'lock-timeout',
  'lease-lost',
] as const;

@ApiTags('address-books')
@Controller('v1/address-books/:guild')
export class AddressBooksController {
  constructor(private readonly books: GuildBooks) {}

  @Get()
  @ApiOperation({ summary: 'Look at the address book of a guild' })
  @Answers(bookSchema, 'The size of the book.')
  @Problems(...MEMBER_PROBLEMS)
  async addressBook(
    @Id('guild') guild: string,
    @Query({ schema: byQuery }) { by }: By,
  ): Promise<z.infer<typeof bookSchema>> {
    return { guild, size: await this.books.read(guild, by, (book) => book.size()) };
  }

  @Put('names/:name')
  @ApiOperation({
    summary: 'Add a name, or change one',
    description:
      'The entry replaces an earlier one of this name, and keeps its score unless the body has one. The first ' +
      'name of a guild is its creator, who adds themselves. Members add later members. Repeating the request ' +
      'is safe.',
  })
  @Creates(putNameSchema, 'The name is in the book.', 'The name was in the book, and is changed.')
  @Problems(...MEMBER_PROBLEMS, ...ADD_PROBLEMS)
  async putName(
    @Id('guild') guild: string,
    @Id('name') name: string,
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
  @RouteConfig(LARGE_BODY)
  @ApiOperation({
    summary: 'Add or change up to 1,000 names',
    description:
      'Each name is stored as by PUT, but not all in one step. After a 503, or after a name that is too large, ' +
      'some may be stored. Repeating the request is safe. The names of a new guild include its creator.',
  })
  @Answers(nameBatchSchema, 'The number of stored names and of new ones.')
  @Problems(...MEMBER_PROBLEMS, ...ADD_PROBLEMS)
  async putNames(
    @Id('guild') guild: string,
    @Query({ schema: byQuery }) { by }: By,
    @Body({ schema: nameBatchBody }) { names }: z.infer<typeof nameBatchBody>,
  ): Promise<z.infer<typeof nameBatchSchema>> {
    return this.books.add(guild, by, names.map(entryOf));
  }

  @Get('names/:name')
  @ApiOperation({ summary: 'Read a name' })
  @Answers(nameSchema, 'All stored data of the name.')
  @Problems(...MEMBER_PROBLEMS, 'unknown-name')
  async readName(
    @Id('guild') guild: string,
    @Id('name') name: string,
    @Query({ schema: byQuery }) { by }: By,
  ): Promise<z.infer<typeof nameSchema>> {
    const found = await this.books.read(guild, by, (book) => book.get(name));
    if (found === null) throw unknownName(guild, name);
    const { key, display, aliases, score, payload } = found;
    return { name: key, display, aliases: [...aliases], score, ...(payload !== undefined && { payload }) };
  }

  @Delete('names/:name')
  @ApiOperation({
    summary: 'Remove a name',
    description:
      'A member who removes their own name leaves the guild. The guild ends with its last name, and anybody ' +
      'may then create it again. Repeating the request is safe. For the own name, however, a former member ' +
      'then gets 403.',
  })
  @AnswersNothing('The name is removed.')
  @Problems(...MEMBER_PROBLEMS)
  async removeName(
    @Id('guild') guild: string,
    @Id('name') name: string,
    @Query({ schema: byQuery }) { by }: By,
  ): Promise<void> {
    await this.books.write(guild, by, (book) => book.remove(name));
  }

  @Post('names/:name/boost')
  @ApiOperation({
    summary: 'Raise or lower the score of a name',
    description:
      'Boost a name, for example, whenever somebody has chosen it. A boost whose answer was lost may have been ' +
      'made.',
  })
  @TakesIdempotencyKey(
    'Identifies the boost: for an hour, the same boost again changes nothing, and gets the score of the ' +
      'first answer.',
  )
  @Answers(boostSchema, 'The present score.')
  @Problems(...MEMBER_PROBLEMS, ...BODY_PROBLEMS, 'invalid-idempotency-key', 'unknown-name', 'request-reused')
  async boostName(
    @Id('guild') guild: string,
    @Id('name') name: string,
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
