import type { RedisClient } from '@mortise/redis';
import { FileChannel } from '../files/file-channel.js';
import { FileReceiver } from '../files/file-receiver.js';
import { FileSender } from '../files/file-sender.js';
import type { FileChannelOptions } from '../files/listed-file.js';
import type { FileReceiverOptions, FileSenderOptions } from '../files/options.js';

/** What holds for all channels of a module, unless a call says otherwise. */
export type FilesModuleOptions = Omit<FileSenderOptions, 'receivers' | 'prefix'> &
  Pick<FileChannelOptions, 'holder'>;

/**
 * Makes senders and receivers of files with the client, the prefix and the options of the module. Each is an object of its own: channels
 * are known when they are used, not at boot.
 */
export class Files {
  readonly #redis: RedisClient;
  readonly #prefix: { readonly prefix?: string };
  readonly #options: FilesModuleOptions;

  /** Throws TypeError or RangeError for a client or options that cannot be used. */
  constructor(redis: RedisClient, prefix: string | undefined, options: FilesModuleOptions = {}) {
    this.#redis = redis;
    this.#prefix = prefix === undefined ? {} : { prefix };
    this.#options = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
    // What no channel could be made with lets the boot fail.
    this.sender('any', { receivers: ['any'] });
    this.channel('any');
  }

  /** Throws as `new FileSender`. */
  sender(channel: string, options: Omit<FileSenderOptions, 'prefix'>): FileSender {
    return new FileSender(this.#redis, channel, { ...this.#options, ...options, ...this.#prefix });
  }

  /** Throws as `new FileReceiver`. */
  receiver(
    channel: string,
    receiver: string,
    options: Omit<FileReceiverOptions, 'prefix'> = {},
  ): FileReceiver {
    const { leaseMs, telemetry } = this.#options;
    const given = { ...(leaseMs !== undefined && { leaseMs }), ...(telemetry && { telemetry }) };
    return new FileReceiver(this.#redis, channel, receiver, { ...given, ...options, ...this.#prefix });
  }

  /** Throws as `new FileChannel`. */
  channel(channel: string, options: Omit<FileChannelOptions, 'prefix'> = {}): FileChannel {
    return new FileChannel(this.#redis, channel, { ...this.#options, ...options, ...this.#prefix });
  }
}
