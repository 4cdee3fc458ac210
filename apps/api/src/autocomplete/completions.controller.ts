/** Completion of names, and of whom a member of a guild means. */
import { Controller, Get, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';

import { Answers } from '../http/answers.js';
import { Id } from '../http/id.decorator.js';
import { Problems } from '../http/problems.decorator.js';
import { timed } from '../http/server-timing.js';
import { completionsPage, completionsQuery, mentionsQuery, mentionsSchema } from './book-schemas.js';
import { GuildBooks } from './guild-books.js';
import { completeMentions } from './mentions.js';
import { TenantContacts } from './tenant-autocomplete.js';

@ApiTags('address-books')
@Controller('v1/address-books/:guild')
export class CompletionsController {
  constructor(
    private readonly books: GuildBooks,
    private readonly recent: TenantContacts,
  ) {}

  @Get('completions')
  @ApiOperation({
    summary: 'Complete a name of the address book',
    description:
      "Finds names whose words begin with the typed words, in any order. Case, accents and width don't matter: " +
      '`jo sm` finds John Smith and Smith, Joan. Six words and 1,024 characters of the prefix count. An empty ' +
      'prefix, or one of spaces and marks alone, matches all names. Changes nothing.',
  })
  @Answers(completionsPage, 'A page of names.', 'Server-Timing')
  @Problems('invalid-id', 'invalid-query', 'invalid-cursor', 'page-too-deep', 'not-in-guild')
  async completions(
    @Id('guild') guild: string,
    @Query({ schema: completionsQuery }) { by, prefix, cursor, ...query }: z.infer<typeof completionsQuery>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof completionsPage>> {
    const options = { ...query, ...(cursor !== undefined && { cursor }) };
    const { suggestions, cursor: nextCursor } = await this.books.read(guild, by, (book) =>
      timed(reply, 'complete', () => book.page(prefix, options)),
    );
    const items = suggestions.map(({ key: name, display, score, payload, matches, isFuzzy }) => ({
      name,
      display,
      score,
      ...(payload !== undefined && { payload }),
      matches: [...matches],
      isFuzzy,
    }));
    return { items, nextCursor };
  }

  @Get('mentions')
  @ApiOperation({
    summary: 'Complete whom a member means',
    description:
      'The recent contacts of the member come first, the last touched one before the others. Then come the ' +
      'names of the address book, each person once. The request changes nothing: touch the chosen contact, and ' +
      'boost the chosen name.',
  })
  @Answers(mentionsSchema, 'The persons that the member may mean.')
  @Problems('invalid-id', 'invalid-query', 'not-in-guild')
  async mentions(
    @Id('guild') guild: string,
    @Query({ schema: mentionsQuery }) { by, prefix, ...options }: z.infer<typeof mentionsQuery>,
  ): Promise<z.infer<typeof mentionsSchema>> {
    const { mentions, isComplete } = await this.books.read(guild, by, (book) =>
      completeMentions(this.recent.current, book, by, prefix, options),
    );
    const items = mentions.map(({ key, display, isRecent, score, payload, matches }) => ({
      name: key,
      display,
      isRecent,
      ...(score !== undefined && { score }),
      ...(payload !== undefined && { payload }),
      matches: [...matches],
    }));
    return { items, isComplete };
  }
}
