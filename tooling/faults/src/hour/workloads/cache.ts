import { setTimeout as pause } from 'node:timers/promises';
import { Cache } from '@mortise/cache';
import { Storm } from '../../cache/storm.js';
import { connectTo } from '../../connect.js';
import { nowUs } from '../../locks/clock.js';
import type { PastFault, Place, Workload } from '../workload.js';
import { isExcused } from '../workload.js';

const CLIENTS = 3;
const PAUSE_MS = 50;

/** Clients that read and change entries, in the process of the workload itself. */
export async function cache({ redis: address, prefix }: Place): Promise<Workload> {
  const clients = Array.from({ length: CLIENTS }, () => connectTo(address));
  const caches = clients.map(
    (redis) =>
      new Cache<number>(redis, 'pages', {
        prefix,
        leaseMs: 300,
        commandTimeoutMs: 200,
        // Otherwise a process returns values from before a change while Redis is down.
        fallbackTtlMs: 0,
        onError: () => undefined,
      }),
  );
  const storm = new Storm(caches, { pause: () => pause(PAUSE_MS) });
  storm.start();
  const faults: PastFault[] = [];
  return {
    progress: () => Math.min(storm.counts.reads, storm.counts.changes),
    veterans: () => [{ name: 'clients', pid: process.pid }],
    // The workload has no other process to hit.
    strike: async () => undefined,
    async noted(fault) {
      if (fault.mayForget) await storm.deleteAll();
      faults.push({ ...fault, to: nowUs() });
    },
    async finish() {
      await storm.end();
      const old = storm.old.filter((read) => !isExcused(faults, read));
      return {
        violations: old.map(({ what }) => `older than a change: ${what}`),
        figures: { ...storm.counts, 'old values after a loss': storm.old.length - old.length },
      };
    },
    async clean() {
      await storm.deleteAll();
      await Promise.all(caches.map((one) => one.stop()));
    },
    dispose: async () => {
      for (const redis of clients) redis.disconnect();
    },
  };
}
