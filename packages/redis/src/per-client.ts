import type { RedisClient } from './client.js';
import { checkClient } from './client.js';

/**
 * Makes a function that returns one `T` for each client, created at the first call. All parts of a package on a client share
 * this `T`, which is garbage-collected with the client. Throws TypeError, as `requireClient` does, for anything that is no
 * client.
 */
export function perClient<T>(create: (client: RedisClient) => T): (client: RedisClient) => T {
  const known = new WeakMap<object, T>();
  return (client) => {
    let one = known.get(client);
    if (one === undefined) {
      one = create(checkClient(client));
      known.set(client, one);
    }
    return one;
  };
}
