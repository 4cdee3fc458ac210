/** The recent contacts of a user. */
import { Body, Controller, Delete, Get, Param, Post, Put, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';

import { Answers, AnswersNothing } from '../http/answers.js';
import { Name } from '../http/id.decorator.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { timed } from '../http/server-timing.js';
import { contactSchema, contactsQuery, contactsSchema, touchBody } from './contact-schemas.js';
import { TenantContacts } from './tenant-autocomplete.js';

@ApiTags('contacts')
@Controller('v1/contacts/:user')
export class ContactsController {
  constructor(private readonly recent: TenantContacts) {}

  @Get()
  @ApiOperation({
    summary: 'List the recent contacts of a user, or complete one',
    description:
      "Lists the contacts that begin with `prefix`, the last touched first. Case, accents and width don't " +
      'matter. Changes nothing.',
  })
  @Answers(contactsSchema, 'The contacts.', 'Server-Timing')
  @Problems('invalid-id', 'invalid-query')
  async contacts(
    @Name('user') user: string,
    @Query({ schema: contactsQuery }) { prefix, limit }: z.infer<typeof contactsQuery>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof contactsSchema>> {
    const contacts = await timed(reply, 'complete', () =>
      this.recent.current.complete(user, prefix, { limit }),
    );
    return { items: contacts.map((contact) => ({ contact })) };
  }

  @Post()
  @ApiOperation({
    summary: 'Make up to 1,000 contacts the most recent ones of a user',
    description:
      'Touches the contacts in their order: the last one becomes the most recent. A user has up to 100. ' +
      'Repeating the request is safe.',
  })
  @AnswersNothing('The contacts are the most recent ones.')
  @Problems('invalid-id', ...BODY_PROBLEMS)
  async touchContacts(
    @Name('user') user: string,
    @Body({ schema: touchBody }) { contacts }: z.infer<typeof touchBody>,
  ): Promise<void> {
    await this.recent.current.touchMany(user, contacts);
  }

  @Put(':contact')
  @ApiOperation({
    summary: 'Make a contact the most recent one of a user',
    description:
      'Beyond 100 contacts, the one touched longest ago is removed. Repeating the request is safe.',
  })
  @AnswersNothing('The contact is the most recent one.')
  @Problems('invalid-id')
  async touchContact(
    @Name('user') user: string,
    @Param('contact', { schema: contactSchema }) contact: string,
  ): Promise<void> {
    await this.recent.current.touch(user, contact);
  }

  @Delete(':contact')
  @ApiOperation({ summary: 'Take a contact out', description: 'Repeating the request is safe.' })
  @AnswersNothing('The name is removed.')
  @Problems('invalid-id')
  async removeContact(
    @Name('user') user: string,
    @Param('contact', { schema: contactSchema }) contact: string,
  ): Promise<void> {
    await this.recent.current.remove(user, contact);
  }
}
