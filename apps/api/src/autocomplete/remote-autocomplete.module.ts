import { Module } from '@nestjs/common';

import { AddressBooksController } from './address-books.controller.js';
import { CompletionsController } from './completions.controller.js';
import { ContactsController } from './contacts.controller.js';
import { GuildBooks } from './guild-books.js';
import { TenantBooks, TenantContacts } from './tenant-autocomplete.js';

/** Recent contacts and the address books of guilds for programs that talk HTTP. */
@Module({
  controllers: [ContactsController, AddressBooksController, CompletionsController],
  providers: [TenantContacts, TenantBooks, GuildBooks],
})
export class RemoteAutocompleteModule {}
