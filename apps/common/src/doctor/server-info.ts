/** The values that a server tells of itself, if it does. */
import { Cluster } from 'ioredis';
import type { Redis } from 'ioredis';

export type Info = ReadonlyMap<string, string>;

export function mastersOf(redis: Redis | Cluster): Redis[] {
  return redis instanceof Cluster ? redis.nodes('master') : [redis];
}

/** The fields of INFO; undefined where it is refused. */
export async function infoOf(node: Redis): Promise<Info | undefined> {
  try {
    const lines = (await node.info()).split('\r\n');
    return new Map(
      lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
    );
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
}

/** Managed services, and users without the right. */
export function isRefusal(error: unknown): boolean {
  return /^(?:NOPERM|ERR unknown (?:sub)?command)/.test((error as Error).message);
}
