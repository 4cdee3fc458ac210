import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';

import { Answers } from '../http/answers.js';
import { limit, longCursor, nextCursor } from '../http/page.js';
import { Problems } from '../http/problems.decorator.js';
import type { Kind, NamesPage } from './stored-names.js';
import { PLACES, StoredNames } from './stored-names.js';

const kindSchema = z.enum(Object.keys(PLACES) as [Kind, ...Kind[]]).meta({ examples: ['chats'] });
const namesQuery = z.strictObject({ cursor: longCursor, limit });
const namesPage = z.object({ items: z.array(z.object({ name: z.string() })), nextCursor }).meta({
  id: 'NamesPage',
  description: 'A page of names. It may have fewer names than the limit, or none, though there are more.',
});

@ApiTags('overview')
@Controller('v1/names')
export class NamesController {
  constructor(private readonly names: StoredNames) {}

  @Get(':kind')
  @ApiOperation({
    summary: 'List what is stored of a kind',
    description:
      'For operators. Lists the names that a bounded scan of the keys finds, in no order. Go on until ' +
      '`nextCursor` is null.',
  })
  @Answers(namesPage, 'A page of names.')
  @Problems('invalid-id', 'invalid-query', 'invalid-cursor')
  listNames(
    @Param('kind', { schema: kindSchema }) kind: Kind,
    @Query({ schema: namesQuery }) { limit: most, cursor }: z.infer<typeof namesQuery>,
  ): Promise<NamesPage> {
    return this.names.page(kind, most, cursor);
  }
}
