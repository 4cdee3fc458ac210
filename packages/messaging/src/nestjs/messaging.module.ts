/**
 * The module gives NestJS the client and the options once. The mailboxes of all recipients are one object, and so are all
 * chats and what makes senders and receivers of files: there is nothing to register for each of them.
 */
import type { RedisClient } from '@mortise/redis';
import type { FactoryProvider, InjectionToken } from '@nestjs/common';
import { ConfigurableModuleBuilder, Module } from '@nestjs/common';
import { Chats } from '../chat/chats.js';
import { Mailboxes } from '../mailbox/mailboxes.js';
import type { ChatsOptions, MailboxesOptions } from '../options.js';
import type { FilesModuleOptions } from '../files/files.js';
import { Files } from '../files/files.js';
import { getChatsToken, getFilesToken, getMailboxesToken } from './tokens.js';

/** The client, which the module uses and never closes, and the options of what it provides. */
export interface MessagingModuleOptions {
  readonly redis: RedisClient;
  /** Keeps several applications apart in one Redis. Default `mortise`. */
  readonly prefix?: string | undefined;
  readonly mailboxes?: Omit<MailboxesOptions, 'prefix'> | undefined;
  readonly chats?: Omit<ChatsOptions, 'prefix'> | undefined;
  readonly files?: FilesModuleOptions | undefined;
}

/** What a class has to have that is given to `forRootAsync` as `useClass` or `useExisting`. */
export interface MessagingOptionsFactory {
  createMessagingOptions(): MessagingModuleOptions | Promise<MessagingModuleOptions>;
}

interface Extras {
  /** Tells modules apart, where an application has several: for `InjectMailboxes(name)` and the others. Default: none. */
  readonly name?: string | undefined;
}

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } =
  new ConfigurableModuleBuilder<MessagingModuleOptions>({ moduleName: 'Messaging' })
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createMessagingOptions')
    .setExtras<Extras>({ name: undefined }, (definition, { name }) => {
      const providers = [
        provider(
          name,
          getMailboxesToken(name),
          ({ redis, prefix, mailboxes }) => new Mailboxes(redis, withPrefix(mailboxes, prefix)),
        ),
        provider(
          name,
          getChatsToken(name),
          ({ redis, prefix, chats }) => new Chats(redis, withPrefix(chats, prefix)),
        ),
        provider(name, getFilesToken(name), ({ redis, prefix, files }) => new Files(redis, prefix, files)),
      ];
      return {
        ...definition,
        global: true,
        providers: [...(definition.providers ?? []), ...providers],
        exports: providers.map(({ provide }) => provide),
      };
    })
    .build();

/**
 * Provides `Mailboxes`, `Chats` and `Files` to the whole application. `forRoot` takes a client and options; `forRootAsync` takes
 * what makes them, as `useFactory` with `inject` and `imports`, `useClass` or `useExisting`. A client or an option that
 * cannot be used lets the boot fail. Nothing is sent at boot, and the client is never closed.
 */
@Module({})
export class MessagingModule extends ConfigurableModuleClass {}

/** What is undefined is not given. */
function withPrefix<Options extends object>(
  options: Options | undefined,
  prefix: string | undefined,
): Options {
  const given = Object.entries({ ...options, prefix }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as Options;
}

function provider<Provided>(
  name: string | undefined,
  provide: InjectionToken<Provided>,
  make: (options: MessagingModuleOptions) => Provided,
): FactoryProvider<Provided> {
  return {
    provide,
    inject: [MODULE_OPTIONS_TOKEN],
    useFactory: (options: MessagingModuleOptions) => {
      try {
        return make(options);
      } catch (error) {
        // What lets the boot fail shows no more of an error than its message.
        const which = name === undefined ? '' : ` ${JSON.stringify(name)}`;
        const Misuse = error instanceof RangeError ? RangeError : TypeError;
        throw new Misuse(`MessagingModule${which}: ${(error as Error).message}`, { cause: error });
      }
    },
  };
}
