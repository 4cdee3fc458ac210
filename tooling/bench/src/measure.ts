import { startSingle } from '@mortise/redis-server';
import { Redis } from 'ioredis';
import type { Competitor } from './scenario.js';
import { sentCommands } from './sent-commands.js';
import { serverCounters } from './server-counters.js';

/** One measurement: figures by name. */
export type Figures = Readonly<Record<string, number>>;

export interface MeasureOptions {
  readonly seconds: number | undefined;
  readonly scale: number;
  readonly isCluster: boolean | undefined;
}

/** Warms the work up on a server of its own, then measures it. */
export async function measure(
  competitor: Competitor,
  { seconds, scale, isCluster = false }: MeasureOptions,
): Promise<Figures> {
  const server = await startSingle({ isCluster });
  const redis = new Redis(server.url);
  try {
    const work = await competitor.prepare(redis, { url: server.url, seconds, scale });
    try {
      await (work.warmUp ? work.warmUp() : work.run());
      const before = await serverCounters(redis);
      const sentBefore = sentCommands();
      const nodeBefore = process.cpuUsage();
      const startedAt = performance.now();
      const { operations, figures, elsewhere } = await work.run();
      const elapsed = elsewhere?.seconds ?? (performance.now() - startedAt) / 1000;
      const node = process.cpuUsage(nodeBefore);
      const sent = sentCommands() - sentBefore + (elsewhere?.sentCommands ?? 0);
      const after = await serverCounters(redis);
      return {
        'operations/s': operations / elapsed,
        'Redis CPU µs': ((after.cpuSeconds - before.cpuSeconds) * 1e6) / operations,
        'Node CPU µs': (node.user + node.system + (elsewhere?.cpuMicros ?? 0)) / operations,
        'commands sent': sent / operations,
        'commands run': (after.commands - before.commands) / operations,
        'µs in scripts': (after.scriptMicros - before.scriptMicros) / operations,
        'socket reads': (after.reads - before.reads) / operations,
        'bytes in': (after.bytesIn - before.bytesIn) / operations,
        'bytes out': (after.bytesOut - before.bytesOut) / operations,
        ...figures,
      };
    } finally {
      await work.close();
    }
  } finally {
    redis.disconnect();
    await server.stop();
  }
}
