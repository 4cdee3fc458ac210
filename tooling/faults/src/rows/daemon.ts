/** A process that refreshes rows from a source whose faults are chosen from outside; killed, stopped and resumed by tests. */
import { Refresher, RowCache } from '@mortise/cache/rows';
import type { LoadRows } from '@mortise/cache/rows';
import { connectTo } from '../connect.js';
import type { DaemonConfig, Fault, Loaded } from './config.js';
import { faultKey, sourceKey, TABLE } from './config.js';

const { redis: address, prefix, leaseMs } = JSON.parse(process.argv[2]!) as DaemonConfig;
const redis = connectTo(address);

// A parent that is gone needs nothing.
process.on('disconnect', () => process.exit(1));
process.on('message', () => {
  void refresher.stop().then(() => process.exit(0));
});

const load: LoadRows<string> = async (ids, signal) => {
  const fault = ((await redis.get(faultKey(prefix))) ?? 'none') as Fault;
  const versions = await redis.hmget(sourceKey(prefix), ...ids);
  process.send!({ ids, fault } satisfies Loaded);
  const rows = new Map<string, string>();
  for (const [index, id] of ids.entries()) {
    const version = versions[index];
    if (typeof version === 'string') rows.set(id, version);
  }
  switch (fault) {
    case 'down':
      throw new Error('the source is down');
    case 'hangs':
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
      break;
    case 'garbage':
      return new Map([[{} as string, 'garbage']]);
    case 'few':
      return new Map([...rows].filter((_, index) => index % 2 === 0));
    case 'none':
      break;
  }
  return rows;
};

const rows = new RowCache<string>(redis, TABLE, { prefix, load, missing: 'tombstone' });
const refresher = new Refresher(redis, [rows], {
  leaseMs,
  batch: 50,
  backoff: { delayMs: 50, maxDelayMs: 500 },
  onError: () => undefined,
});
await refresher.start();
process.send!('ready');
