import type { OnApplicationShutdown } from '@nestjs/common';
import { Logger } from '@nestjs/common';
import { ArgumentTypeError } from '../argument-error.js';
import type { RedisClient } from '../client.js';
import type { OwnedClient } from '../owned-client.js';
import { ownedClient } from '../owned-client.js';

/** Either a client, which a module uses and never closes, or the URL of a single node, for a client that the module closes. */
export type ModuleClient =
  | { readonly redis: RedisClient; readonly url?: undefined }
  | { readonly url: string; readonly redis?: undefined };

/** Options of a module in which a client has taken the place of the URL. */
export type WithClient<Options> = Exclude<Options, { readonly url: string }>;

/** The options of `forRoot` for the providers of a module. Closes the client of a URL when the application has shut down. */
export class OpenedOptions<Options extends object> implements OnApplicationShutdown {
  readonly options: WithClient<Options>;
  readonly #own: OwnedClient | undefined;

  /** @param label The name of the module, for its log. */
  constructor(label: string, options: Options) {
    const { redis, url, ...rest } = options as { readonly redis?: unknown; readonly url?: unknown };
    if (url !== undefined) this.#own = openClient(label, redis, url);
    this.options = (this.#own ? { ...rest, redis: this.#own.redis } : options) as WithClient<Options>;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#own?.close();
  }
}

function openClient(label: string, redis: unknown, url: unknown): OwnedClient {
  if (redis !== undefined) throw new ArgumentTypeError('redis and url exclude each other');
  if (typeof url !== 'string') throw new ArgumentTypeError(`url must be a string, got ${typeof url}`);
  const own = ownedClient(url);
  const log = new Logger(label);
  let logged: string | undefined;
  own.redis.on('ready', () => {
    logged = undefined;
  });
  // Each failed reconnection emits an error; only a new message is logged.
  own.redis.on('error', ({ message }: Error) => {
    if (message !== logged) log.warn(`redis: ${message}`);
    logged = message;
  });
  return own;
}
