import type { RedisClient } from '@mortise/redis';
import { ClientClosedError, isClosed } from '@mortise/redis';

/** Settles as `work` does, but rejects with ClientClosedError if it fails after the client was closed. */
export async function orClosed<Result>(client: RedisClient, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw isClosed(client) ? new ClientClosedError() : error;
  }
}
