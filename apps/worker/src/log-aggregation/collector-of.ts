import { LogCollector, readRangeTable } from '@mortise/messaging/log-aggregation';
import type { RedisClient } from '@mortise/redis';
import type { Logger } from 'pino';

import type { Config } from '../config.js';
import { ErrorLog } from '../error-log.js';

/** The collector of access logs of a worker; undefined where the settings name no channel. Rejects when the ranges cannot be read. */
export async function logCollectorOf(
  redis: RedisClient,
  { accessLogs, prefix }: Config,
  log: Logger,
): Promise<LogCollector | undefined> {
  if (accessLogs === undefined) return undefined;
  const { channel, receiver, share, ranges, keepMs, maxAgeMs } = accessLogs;
  const table = await readRangeTable(ranges);
  log.info({ ranges: table.ranges, places: table.places.size }, 'ranges of addresses are loaded');
  const errors = new ErrorLog(log);
  return new LogCollector(redis, channel, receiver, table, {
    prefix,
    share,
    keepMs,
    maxAgeMs,
    onError: (error) => errors.add(error),
    onReport: ({ id: file, malformed, malformedOf, samples, ...report }) => {
      const isClean = malformed === 0;
      log[isClean ? 'info' : 'warn'](
        { file, ...report, ...(!isClean && { malformed, malformedOf, samples }) },
        'access log counted',
      );
    },
  });
}
