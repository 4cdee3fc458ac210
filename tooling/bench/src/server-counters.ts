import type { Redis } from 'ioredis';

/** The counters of a server since its start; commands inside scripts included. */
export interface ServerCounters {
  readonly cpuSeconds: number;
  readonly commands: number;
  readonly scriptMicros: number;
  readonly reads: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

export async function serverCounters(redis: Redis): Promise<ServerCounters> {
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
