import { afterAll } from '@jest/globals';
import type { Cluster } from 'ioredis';
import { Redis } from 'ioredis';
import { disconnect } from './disconnect.js';

const open = new Set<Redis | Cluster>();

afterAll(() => {
  for (const client of open) disconnect(client);
});

/**
 * A connection to the server of this test run, unless a URL is given; closed when the file's tests are over. It comes
 * back within 20 ms when its server does.
 */
export function connect(url = process.env['MORTISE_TEST_REDIS']!): Redis {
  return disconnectLater(new Redis(url, { retryStrategy: () => 20, disconnectTimeout: 100 }));
}

/** Closes a client when the file's tests are over, and prints none of its errors. */
export function disconnectLater<Client extends Redis | Cluster>(client: Client): Client {
  // Without a listener, ioredis prints errors while the server is down.
  client.on('error', () => undefined);
  open.add(client);
  return client;
}
