/**
 * The module takes the client and the options once. One object serves all mailboxes, one all chats, and one creates senders
 * and receivers of files: none is registered by name.
 */
import type { RedisClient } from '@mortise/redis';
import { rootModule, withDefaults } from '@mortise/redis/nestjs';
import { Module } from '@nestjs/common';
import { Chats } from '../chats.js';
import type { FilesModuleOptions } from '../files/files.js';
import { Files } from '../files/files.js';
import { Mailboxes } from '../mailboxes.js';
import type { ChatsOptions, MailboxesOptions } from '../options.js';
import { getChatsToken, getFilesToken, getMailboxesToken } from './tokens.js';

/** The client, which the module uses and never closes, and the options of its providers. */
export interface MessagingModuleOptions {
  readonly redis: RedisClient;
  /** Keeps several applications apart in one Redis. Default `mortise`. */
  readonly prefix?: string | undefined;
  readonly mailboxes?: Omit<MailboxesOptions, 'prefix'> | undefined;
  readonly chats?: Omit<ChatsOptions, 'prefix'> | undefined;
  readonly files?: FilesModuleOptions | undefined;
}

/** A class for `useClass` or `useExisting` of `forRootAsync`. */
export interface MessagingOptionsFactory {
  createMessagingOptions(): MessagingModuleOptions | Promise<MessagingModuleOptions>;
}

const Root = rootModule<MessagingModuleOptions, 'Messaging'>({
  name: 'Messaging',
  known: new Set(['redis', 'prefix', 'mailboxes', 'chats', 'files']),
  provide: (module) => [
    {
      token: getMailboxesToken(module),
      make: ({ redis, prefix, mailboxes }) => new Mailboxes(redis, withDefaults({ prefix }, mailboxes)),
    },
    {
      token: getChatsToken(module),
      make: ({ redis, prefix, chats }) => new Chats(redis, withDefaults({ prefix }, chats)),
    },
    {
      token: getFilesToken(module),
      make: ({ redis, prefix, files }) => new Files(redis, prefix, files),
    },
  ],
});

/**
 * Provides `Mailboxes`, `Chats` and `Files` to the whole application. `forRoot` takes a client and options; `forRootAsync`
 * takes `useFactory` with `inject` and `imports`, `useClass` or `useExisting`. An invalid client or option fails the boot.
 * Sends nothing at boot, and never closes the client.
 */
@Module({})
export class MessagingModule extends Root {}
