import { until } from '@mortise/server-process';

import type { RedisServer } from './server.js';

const DEADLINE_MS = 30_000;

/**
 * Waits until replicas have what their master had written when this was called. Redis counts a replica as linked up to a
 * second before it streams to it, and what was written in that second is gone with the master.
 */
export async function replicated(master: RedisServer, replicas: readonly RedisServer[]): Promise<void> {
  const written = await offsetOf(master);
  const isReplicated = async (): Promise<boolean> =>
    (await Promise.all(replicas.map(offsetOf))).every((offset) => offset >= written);
  const what = `the replicas of ${master.port} to have its first ${written} bytes`;
  await until(isReplicated, { what, deadlineMs: DEADLINE_MS, everyMs: 50, details: () => master.logTail(5) });
}

/** How many bytes of the stream of writes a server has sent, or, as a replica, has received. */
async function offsetOf(server: RedisServer): Promise<number> {
  const info = String(await server.command('INFO', 'replication'));
  const own = /slave_repl_offset:(\d+)/.exec(info) ?? /master_repl_offset:(\d+)/.exec(info);
  return Number(own![1]);
}
