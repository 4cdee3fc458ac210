import { startSingle } from '@mortise/redis-server';
import { Redis } from 'ioredis';
import type { Competitor } from './scenario.js';
import { sentCommands } from './sent-commands.js';

/** One measurement: figures by name. */
export type Figures = Readonly<Record<string, number>>;

/** Runs the work twice on a server of its own and measures the second time. */
export async function measure(competitor: Competitor): Promise<Figures> {
  const server = await startSingle();
  const redis = new Redis(server.url);
  try {
    const work = await competitor.prepare(redis);
    await work.run();
    const before = await counters(redis);
    const sentBefore = sentCommands();
    const nodeBefore = process.cpuUsage();
    const startedAt = performance.now();
    const { operations, figures } = await work.run();
    const seconds = (performance.now() - startedAt) / 1000;
    const node = process.cpuUsage(nodeBefore);
    const sent = sentCommands() - sentBefore;
    const after = await counters(redis);
    await work.close();
    return {
      'operations/s': operations / seconds,
      'Redis CPU µs': ((after.cpuSeconds - before.cpuSeconds) * 1e6) / operations,
      'Node CPU µs': (node.user + node.system) / operations,
      'commands sent': sent / operations,
      'commands run': (after.commands - before.commands) / operations,
      'bytes in': (after.bytesIn - before.bytesIn) / operations,
      'bytes out': (after.bytesOut - before.bytesOut) / operations,
      ...figures,
    };
  } finally {
    redis.disconnect();
    await server.stop();
  }
}

/** What the server counts; commands inside scripts included. */
async function counters(
  redis: Redis,
): Promise<{ cpuSeconds: number; commands: number; bytesIn: number; bytesOut: number }> {
  const info = await redis.info('everything');
  const field = (name: string): number => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1] ?? 0);
  return {
    cpuSeconds: field('used_cpu_user_main_thread') + field('used_cpu_sys_main_thread'),
    commands: field('total_commands_processed'),
    bytesIn: field('total_net_input_bytes'),
    bytesOut: field('total_net_output_bytes'),
  };
}
