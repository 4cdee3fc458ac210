import { afterAll } from '@jest/globals';
import * as five from '@redis/client';
import * as six from 'node-redis6';

/** node-redis 5 speaks RESP2 by default, 6 RESP3. */
export const NODE_REDIS_MAJORS = ['5', '6'] as const;

/** The types of a client depend on its options. */
const createFive = (url: string) => five.createClient({ url });
const createSix = (url: string) => six.createClient({ url });
type Client = ReturnType<typeof createFive>;

const open = new Set<Client>();

afterAll(() => {
  for (const client of open) if (client.isOpen) client.destroy();
});

/** A connected client of node-redis to the server of this test run, closed when the file's tests are over. */
export async function connectNodeRedis(major: (typeof NODE_REDIS_MAJORS)[number]): Promise<Client> {
  const create = major === '5' ? createFive : (createSix as unknown as typeof createFive);
  const client = create(process.env['MORTISE_TEST_REDIS']!);
  client.on('error', () => undefined);
  open.add(client);
  await client.connect();
  return client;
}
