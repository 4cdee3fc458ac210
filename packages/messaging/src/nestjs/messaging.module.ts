/**
 * The module takes the client and the options once. One object serves all mailboxes and one all chats. `Files` makes senders,
 * receivers and channels of files where they are needed; `forFeature` is for those of fixed channels.
 */
import type { Telemetry } from '@mortise/redis';
import type { FeatureShape, ModuleClient } from '@mortise/redis/nestjs';
import { featureModule, rootModule, withDefaults } from '@mortise/redis/nestjs';
import type { DynamicModule } from '@nestjs/common';
import { Module } from '@nestjs/common';
import { Chats } from '../chats.js';
import type { FilesModuleOptions } from '../files/files.js';
import { Files } from '../files/files.js';
import type { FileChannelOptions, FileReceiverOptions, FileSenderOptions } from '../files/options.js';
import { Mailboxes } from '../mailboxes.js';
import type { ChatsOptions, MailboxesOptions } from '../options.js';
import * as tokens from './tokens.js';

/** Options of the providers of `forRoot`. */
interface MessagingProviderOptions {
  /** Keeps several applications apart in one Redis. 1 to 1,024 bytes. Default `mortise`. */
  readonly prefix?: string | undefined;
  /** For mailboxes, chats and files, unless their own options have one. Default: none. */
  readonly telemetry?: Telemetry | undefined;
  /** Options of all mailboxes. */
  readonly mailboxes?: Omit<MailboxesOptions, 'prefix'> | undefined;
  /** Options of all chats. */
  readonly chats?: Omit<ChatsOptions, 'prefix'> | undefined;
  /** Options of the files of all channels. */
  readonly files?: FilesModuleOptions | undefined;
}

/** A client (`redis`), which the module uses and never closes, or the `url` of a single node, for a client that the module closes. */
export type MessagingModuleOptions = MessagingProviderOptions & ModuleClient;

/** A class for `useClass` or `useExisting` of `forRootAsync`. */
export interface MessagingOptionsFactory {
  createMessagingOptions(): MessagingModuleOptions | Promise<MessagingModuleOptions>;
}

/** The name of a receiver, and its options. */
export interface NamedReceiverOptions extends Omit<FileReceiverOptions, 'prefix'> {
  /** The name of the receiver. */
  readonly receiver: string;
}

type Named<Options> = Readonly<Record<string, Options>>;

/** Senders, receivers and channels of files by the name of the channel, with options over those of the module. */
export interface MessagingFeature {
  /** Senders, by the name of the channel. */
  readonly senders?: Named<Omit<FileSenderOptions, 'prefix'>> | undefined;
  /** Receivers, by the name of the channel. */
  readonly receivers?: Named<NamedReceiverOptions> | undefined;
  /** Channels for services that hand files on, by name. */
  readonly channels?: Named<Omit<FileChannelOptions, 'prefix'>> | undefined;
}

const NAME = 'Messaging';

const FEATURE: FeatureShape<MessagingFeature, Files> = {
  name: NAME,
  root: tokens.getFilesToken,
  kinds: {
    senders: {
      token: tokens.getFileSenderToken,
      make: (files, channel, options) => files.sender(channel, options),
    },
    receivers: {
      token: tokens.getFileReceiverToken,
      make: (files, channel, { receiver, ...options }) => files.receiver(channel, receiver, options),
    },
    channels: {
      token: tokens.getFileChannelToken,
      make: (files, channel, options) => files.channel(channel, options),
    },
  },
};

const Root = rootModule<MessagingModuleOptions, typeof NAME, MessagingFeature, Files>({
  name: NAME,
  feature: FEATURE,
  known: new Set(['redis', 'url', 'prefix', 'telemetry', 'mailboxes', 'chats', 'files']),
  provide: (module) => [
    {
      token: tokens.getMailboxesToken(module),
      make: ({ redis, prefix, telemetry, mailboxes }) =>
        new Mailboxes(redis, withDefaults({ prefix, telemetry }, mailboxes)),
    },
    {
      token: tokens.getChatsToken(module),
      make: ({ redis, prefix, telemetry, chats }) =>
        new Chats(redis, withDefaults({ prefix, telemetry }, chats)),
    },
    {
      token: tokens.getFilesToken(module),
      make: ({ redis, prefix, telemetry, files }) =>
        new Files(redis, prefix, withDefaults({ telemetry }, files)),
    },
  ],
});

/**
 * Provides `Mailboxes`, `Chats` and `Files` to the whole application. `forRoot` takes a client or a `url`, options, and a
 * `feature`, which names senders and receivers for all modules as `forFeature` does for one. `forRootAsync` takes `useFactory`
 * with `inject` and `imports`, `useClass` or `useExisting`. An invalid client or option fails the boot. Nothing is sent at
 * boot. A client of yours is never closed.
 */
@Module({})
export class MessagingModule extends Root {
  /**
   * Provides senders, receivers and channels of files to one module of the application, for `InjectFileSender(channel)` and
   * so on. An invalid option fails the boot.
   *
   * @param module The `name` of the module that `forRoot` made. Default: the one without a name.
   */
  static forFeature(feature: MessagingFeature, module?: string): DynamicModule {
    return featureModule(MessagingModule, FEATURE, feature, module);
  }
}
