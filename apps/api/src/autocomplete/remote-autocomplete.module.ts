import { AutocompleteModule } from '@mortise/autocomplete/nestjs';
import type { RedisClient } from '@mortise/redis';
import { Module } from '@nestjs/common';

import type { Config } from '../config.js';
import { CONFIG, REDIS } from '../tokens.js';
import { AddressBooksController } from './address-books.controller.js';
import { CompletionsController } from './completions.controller.js';
import { displayOf, keyOf } from './contact.js';
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
        // The request is over by then.
        mentions: { keyOf, timeoutMs: config.REQUEST_DEADLINE_MS },
      }),
    }),
  ],
  controllers: [ContactsController, AddressBooksController, CompletionsController],
  providers: [GuildBooks],
})
export class RemoteAutocompleteModule {}
