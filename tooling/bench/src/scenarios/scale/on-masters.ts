/**
 * Work on a Cluster of its own, with so many masters. Costs are sums over all masters: what an operation costs the servers, and not how
 * fast this machine does it, since all masters and the work share its cores.
 */
import { startCluster } from '@mortise/redis-server';
import { Cluster, Redis } from 'ioredis';
import type { Competitor } from '../../scenario.js';
import type { ServerCounters } from '../../server-counters.js';
import { serverCounters } from '../../server-counters.js';

export interface ClusterWork {
  /** Does the work once. Resolves to the number of operations. */
  run(): Promise<number>;
  close?(): Promise<void>;
}

export const CPU = 'Redis CPU µs';
export const COLUMNS = [CPU, 'commands run', 'bytes in', 'bytes out', 'CPU of the busiest master, %'];

export function onMasters(
  name: string,
  version: string,
  masters: number,
  prepare: (redis: Cluster) => Promise<ClusterWork>,
): Competitor {
  return {
    name,
    version,
    prepare: async () => {
      const servers = await startCluster({ masters, replicasPerMaster: 0 });
      const redis = new Cluster(servers.startupNodes);
      const clients = servers.nodes.map(({ url }) => new Redis(url));
      const work = await prepare(redis);
      return {
        run: async () => {
          const before = await Promise.all(clients.map(serverCounters));
          const operations = await work.run();
          const after = await Promise.all(clients.map(serverCounters));
          const spent = after.map((counters, index) => minus(counters, before[index]!));
          const sum = (field: keyof ServerCounters): number =>
            spent.reduce((total, counters) => total + counters[field], 0) / operations;
          const busiest = Math.max(...spent.map(({ cpuSeconds }) => cpuSeconds));
          return {
            operations,
            figures: {
              [CPU]: sum('cpuSeconds') * 1e6,
              'commands run': sum('commands'),
              'µs in scripts': sum('scriptMicros'),
              'socket reads': sum('reads'),
              'bytes in': sum('bytesIn'),
              'bytes out': sum('bytesOut'),
              'CPU of the busiest master, %': (100 * busiest) / (sum('cpuSeconds') * operations),
            },
          };
        },
        close: async () => {
          await work.close?.();
          redis.disconnect();
          for (const client of clients) client.disconnect();
          await servers.stop();
        },
      };
    },
  };
}

/** Runs so many calls of `act`, of which `callers` are under way. Resolves to their number. */
export async function calls(
  count: number,
  callers: number,
  act: (n: number) => Promise<unknown>,
): Promise<number> {
  let next = 0;
  const call = async (): Promise<void> => {
    while (next < count) await act(next++);
  };
  await Promise.all(Array.from({ length: callers }, call));
  return count;
}

function minus(after: ServerCounters, before: ServerCounters): ServerCounters {
  const fields = Object.keys(after) as (keyof ServerCounters)[];
  return Object.fromEntries(
    fields.map((field) => [field, after[field] - before[field]]),
  ) as unknown as ServerCounters;
}
