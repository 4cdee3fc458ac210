import type { RedisClient } from '@mortise/redis';
import { requireClient } from '@mortise/redis';

/** A function that returns one `T` for each client, created at its first call. All locks of a client share it. */
export function perClient<T>(create: (client: RedisClient) => T): (client: RedisClient) => T {
  const known = new WeakMap<object, T>();
  return (client) => {
    let one = known.get(client);
    if (one === undefined) {
      one = create(requireClient(client));
      known.set(client, one);
    }
    return one;
  };
}
