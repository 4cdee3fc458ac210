import type { RedisClient } from './client.js';
import { checkClient } from './client.js';
import { warnOfEviction } from './environment.js';

export interface RequireClientOptions {
  /** Whether the server may evict keys. `allowed` if the caller can lose any of its keys. Default `refused`. */
  readonly eviction?: 'allowed' | 'refused' | undefined;
}

/**
 * Returns the client if Mortise can work with it; throws as `checkClient` does. Once for each client, after its connection, the
 * function sends INFO in the background, and warns of a server that may evict keys.
 */
export function requireClient(
  client: RedisClient,
  { eviction = 'refused' }: RequireClientOptions = {},
): RedisClient {
  checkClient(client);
  if (eviction === 'refused') warnOfEviction(client);
  return client;
}
