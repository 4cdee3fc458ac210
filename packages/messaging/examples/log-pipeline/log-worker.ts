import { LogCollector, readRangeTable } from '@mortise/messaging/log-aggregation';
import type { Redis } from 'ioredis';

/** Counts the logs of a channel from now on. Worker `index` of `of` counts its share of the files, and is the receiver `worker-<index>`. */
export async function startWorker(
  redis: Redis,
  rangesPath: string,
  { prefix, index, of }: { prefix: string; index: number; of: number },
): Promise<LogCollector> {
  // A MaxMind database, or a CSV of ranges. A worker holds it in memory.
  const table = await readRangeTable(rangesPath);
  const collector = new LogCollector(redis, 'access-logs', `worker-${index}`, table, {
    prefix,
    share: { index, of },
    onReport: ({ id, malformedOf, malformed }) => {
      if (malformed > 0) console.warn(id, malformedOf);
    },
  });
  collector.start();
  return collector;
}
