import type { RedisClient } from '@mortise/redis';
import { requireOptions } from '@mortise/redis';
import { filesContext } from './context.js';
import { FileChannel } from './channel/file-channel.js';
import type { FileChannelOptions, FileReceiverOptions, FileSenderOptions } from './options.js';
import {
  CHANNEL_OPTIONS,
  RECEIVER_OPTIONS,
  resolveFileChannelOptions,
  resolveFileSenderOptions,
  SENDER_OPTIONS,
} from './options.js';
import { FileReceiver } from './receive/file-receiver.js';
import { FileSender } from './send/file-sender.js';

/** Options for all channels of an application: the options of a sender except `receivers`, and `holder` of a channel. */
export type FilesModuleOptions = Omit<FileSenderOptions, 'receivers' | 'prefix'> &
  Pick<FileChannelOptions, 'holder'>;

const MODULE_OPTIONS = new Set([...SENDER_OPTIONS, ...CHANNEL_OPTIONS].filter(isOfModule));

/**
 * Creates senders, receivers and channels with one client, prefix and set of options, for dependency injection. Use it where
 * channels are known only at run time, not at boot.
 */
export class Files {
  readonly #redis: RedisClient;
  readonly #options: FilesModuleOptions & { readonly prefix?: string };

  /** Throws TypeError or RangeError for a wrong client or options. */
  constructor(redis: RedisClient, prefix: string | undefined, options: FilesModuleOptions = {}) {
    this.#redis = redis;
    requireOptions('files', options, MODULE_OPTIONS);
    const given = Object.entries({ ...options, prefix }).filter(([, value]) => value !== undefined);
    this.#options = Object.fromEntries(given);
    // Makes wrong options fail at boot.
    filesContext(redis, 'any', this.#options);
    resolveFileSenderOptions({ receivers: ['any'], ...this.#of(SENDER_OPTIONS) });
    resolveFileChannelOptions(this.#of(CHANNEL_OPTIONS));
  }

  /** Throws as `new FileSender`. */
  sender(channel: string, options: Omit<FileSenderOptions, 'prefix'>): FileSender {
    return new FileSender(this.#redis, channel, { ...this.#of(SENDER_OPTIONS), ...options });
  }

  /** Throws as `new FileReceiver`. */
  receiver(
    channel: string,
    receiver: string,
    options: Omit<FileReceiverOptions, 'prefix'> = {},
  ): FileReceiver {
    const own = { ...this.#of(RECEIVER_OPTIONS), ...options };
    return new FileReceiver(this.#redis, channel, receiver, own);
  }

  /** Throws as `new FileChannel`. */
  channel(channel: string, options: Omit<FileChannelOptions, 'prefix'> = {}): FileChannel {
    return new FileChannel(this.#redis, channel, { ...this.#of(CHANNEL_OPTIONS), ...options });
  }

  #of(known: ReadonlySet<string>): object {
    return Object.fromEntries(Object.entries(this.#options).filter(([name]) => known.has(name)));
  }
}

function isOfModule(option: string): boolean {
  return option !== 'receivers' && option !== 'prefix';
}
