import type { RedisClient } from './client.js';
import { checkClient } from './client.js';
import { warnOfEviction } from './environment.js';

export interface RequireClientOptions {
  /** `allowed`: the caller can lose any of its keys. Default `refused`. */
  readonly eviction?: 'allowed' | 'refused' | undefined;
}

/**
 * Returns the client if Mortise can work with it; throws as `checkClient` does. Once for each client, when it is connected, it
 * sends INFO in the background, and warns of a server that may evict keys.
 */
export function requireClient(
  client: RedisClient,
  { eviction = 'refused' }: RequireClientOptions = {},
): RedisClient {
  checkClient(client);
  if (eviction === 'refused') warnOfEviction(client);
  return client;
}
