import { startSingle } from '@mortise/redis-server';
import { Redis } from 'ioredis';
import type { Competitor } from './scenario.js';
import { sentCommands } from './sent-commands.js';

/** One measurement: figures by name. */
export type Figures = Readonly<Record<string, number>>;

/** Warms the work up on a server of its own, then measures it. */
export async function measure(
  competitor: Competitor,
  { seconds, isCluster = false }: { seconds: number | undefined; isCluster: boolean | undefined },
): Promise<Figures> {
  const server = await startSingle({ isCluster });
  const redis = new Redis(server.url);
  try {
    const work = await competitor.prepare(redis, { url: server.url, seconds });
    try {
      await (work.warmUp ? work.warmUp() : work.run());
      const before = await counters(redis);
      const sentBefore = sentCommands();
      const nodeBefore = process.cpuUsage();
      const startedAt = performance.now();
      const { operations, figures, elsewhere } = await work.run();
      const elapsed = elsewhere?.seconds ?? (performance.now() - startedAt) / 1000;
      const node = process.cpuUsage(nodeBefore);
      const sent = sentCommands() - sentBefore + (elsewhere?.sentCommands ?? 0);
      const after = await counters(redis);
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

/** What the server counts; commands inside scripts included. */
async function counters(redis: Redis): Promise<{
  cpuSeconds: number;
  commands: number;
  scriptMicros: number;
  reads: number;
  bytesIn: number;
  bytesOut: number;
}> {
  const info = await redis.info('everything');
  const field = (name: string): number => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1] ?? 0);
  return {
    cpuSeconds: field('used_cpu_user_main_thread') + field('used_cpu_sys_main_thread'),
    commands: field('total_commands_processed'),
    scriptMicros: scriptMicros(info),
    reads: field('total_reads_processed'),
    bytesIn: field('total_net_input_bytes'),
    bytesOut: field('total_net_output_bytes'),
  };
}

/** How long scripts ran, by the clock: unlike the CPU, it doesn't depend on how requests arrive. */
function scriptMicros(info: string): number {
  const all = info.matchAll(/^cmdstat_(?:eval|evalsha|evalsha_ro|eval_ro|fcall):calls=\d+,usec=(\d+)/gm);
  return Array.from(all, ([, micros]) => Number(micros)).reduce((sum, micros) => sum + micros, 0);
}
