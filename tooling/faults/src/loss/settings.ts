/** The settings whose losses are measured, and the faults that bring losses about. */
import type { RedisSentinel } from '@mortise/redis-server';
import { startSentinel, startSingle } from '@mortise/redis-server';
import { connectTo } from '../connect.js';
import { until } from '../until.js';
import type { Loss } from './writer.js';
import { Writer } from './writer.js';

export interface Measured {
  readonly setting: string;
  readonly fault: string;
  readonly losses: readonly Loss[];
}

const WRITES = 3_000;
const RDB_SECONDS = 5;

interface Alone {
  readonly setting: string;
  readonly options: Parameters<typeof startSingle>[0];
}

const ALONE: readonly Alone[] = [
  { setting: 'no persistence', options: {} },
  {
    setting: `\`save ${RDB_SECONDS} 1\` alone (a snapshot every ${RDB_SECONDS} s)`,
    options: { args: ['--save', String(RDB_SECONDS), '1'] },
  },
  { setting: '`appendfsync everysec`', options: { appendFsync: 'everysec' } },
  { setting: '`appendfsync always`', options: { appendFsync: 'always' } },
];

interface Replicated {
  readonly setting: string;
  readonly replicas?: number;
  readonly config?: readonly (readonly [name: string, value: string])[];
}

const REPLICATED: readonly Replicated[] = [
  { setting: 'a replica' },
  {
    setting: 'a replica, `min-replicas-to-write 1`, `min-replicas-max-lag 1`',
    config: [
      ['min-replicas-to-write', '1'],
      ['min-replicas-max-lag', '1'],
    ],
  },
  { setting: 'a replica, `WAIT 1` after each write', replicas: 1 },
];

/** One server: SIGKILL under load, and a start with what it had written down. */
export async function measureKills(times: number): Promise<Measured[]> {
  const measured: Measured[] = [];
  for (const { setting, options } of ALONE) {
    const losses: Loss[] = [];
    for (let time = 0; time < times; time += 1) {
      const server = await startSingle(options);
      const redis = connectTo({ url: server.url });
      try {
        const writer = new Writer(redis, 'loss');
        await until('writes', () => writer.accepted >= WRITES);
        await server.kill();
        const stopped = writer.stop();
        await server.restart();
        await stopped;
        losses.push(await writer.loss());
      } finally {
        redis.disconnect();
        await server.stop();
      }
    }
    measured.push({ setting, fault: 'SIGKILL, restart', losses });
  }
  return measured;
}

/** A master with a replica under Sentinel: the master is killed, or demoted on request. */
export async function measureFailovers(times: number): Promise<Measured[]> {
  const measured: Measured[] = [];
  for (const [fault, act] of [
    ['SIGKILL, failover', killMaster],
    ['`SENTINEL FAILOVER`', demote],
  ] as const)
    for (const { setting, replicas, config = [] } of REPLICATED) {
      const losses: Loss[] = [];
      for (let time = 0; time < times; time += 1) {
        const group = await startSentinel({ replicas: 1 });
        const redis = connectTo({ name: group.name, sentinels: group.sentinels });
        try {
          for (const [name, value] of config)
            for (const server of group.servers) await server.command('CONFIG', 'SET', name, value);
          const writer = new Writer(redis, 'loss', replicas);
          await until('writes', () => writer.accepted >= WRITES);
          await act(group);
          await writer.stop();
          losses.push(await writer.loss());
        } finally {
          redis.disconnect();
          await group.stop();
        }
      }
      measured.push({ setting, fault, losses });
    }
  return measured;
}

/** The former master comes back as a replica, which throws away what only it had. */
async function killMaster(group: RedisSentinel): Promise<void> {
  const master = await group.master();
  await master.kill();
  await until('another master', async () => (await group.master()) !== master);
  await master.restart();
  await group.settled();
}

async function demote(group: RedisSentinel): Promise<void> {
  await group.failover();
}
