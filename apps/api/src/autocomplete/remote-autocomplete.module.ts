import { AutocompleteModule } from '@mortise/autocomplete/nestjs';
import type { RedisClient } from '@mortise/redis';
import { Module } from '@nestjs/common';

import type { Config } from '../config.js';
import { CONFIG, REDIS } from '../tokens.js';
import { AddressBooksController } from './address-books.controller.js';
import { CompletionsController } from './completions.controller.js';
import { displayOf } from './contact.js';
import { MAX_CONTACTS } from './contact-schemas.js';
import { ContactsController } from './contacts.controller.js';
import { GuildBooks } from './guild-books.js';

/** Recent contacts and the address books of guilds for programs that talk HTTP. */
@Module({
  imports: [
    AutocompleteModule.forRootAsync({
      inject: [REDIS, CONFIG],
      useFactory: (redis: RedisClient, config: Config) => ({
        redis,
        prefix: config.MORTISE_PREFIX,
        recent: { capacity: MAX_CONTACTS, displayOf },
      }),
    }),
  ],
  controllers: [ContactsController, AddressBooksController, CompletionsController],
  providers: [GuildBooks],
})
export class RemoteAutocompleteModule {}
