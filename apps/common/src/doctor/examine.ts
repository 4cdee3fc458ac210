/** Examines a Redis before an app runs on it, and says what to change. It leaves nothing behind. */
import { KeySpace } from '@mortise/redis';
import type { CommandArgument } from '@mortise/redis';
import { Cluster } from 'ioredis';
import type { Redis } from 'ioredis';

import type { Info } from './server-info.js';
import { infoOf, mastersOf } from './server-info.js';

/** `problem`: the apps fail, or lose data. `advice`: they work, but less well than they could. */
export interface Finding {
  readonly level: 'ok' | 'advice' | 'problem';
  readonly subject: string;
  readonly found: string;
  readonly action?: string;
}

const MIN_MAJOR = 7;
const PINGS = 20;
const SLOW_MS = 5;
const TOO_SLOW_MS = 100;
/** Leases and delays compare clocks of processes with the one of the server. */
const CLOCK_MS = 1_000;
const SLOTS = 16_384;

/** All findings, node by node for the masters of a Cluster. Rejects when no server answers. */
export async function examine(redis: Redis | Cluster, prefix: string): Promise<Finding[]> {
  const isCluster = redis instanceof Cluster;
  const found = await Promise.all(mastersOf(redis).map((node) => examineNode(node, isCluster)));
  return [...found.flat(), ...(await rightsOf(redis, prefix))];
}

async function examineNode(node: Redis, isCluster: boolean): Promise<Finding[]> {
  const where = `${node.options.host ?? 'redis'}:${node.options.port ?? ''}`;
  const named = (finding: Finding): Finding => ({ ...finding, subject: `${where} ${finding.subject}` });
  const info = await infoOf(node);
  const findings = [
    ...(info ? [...software(info), ...memory(info), ...persistence(info), ...replication(info)] : [noInfo()]),
    await latency(node),
    await clock(node),
    ...(info ? await cluster(node, info, isCluster) : []),
  ];
  return findings.map(named);
}

function noInfo(): Finding {
  return {
    level: 'advice',
    subject: 'INFO',
    found: 'is refused, so version, memory and persistence are unknown',
    action: 'Allow the command, or check them in the console of the service',
  };
}

function software(info: Info): Finding[] {
  const name = info.has('valkey_version') ? 'Valkey' : 'Redis';
  const version = info.get('valkey_version') ?? info.get('redis_version') ?? '';
  const isOld = name === 'Redis' && Number.parseInt(version, 10) < MIN_MAJOR;
  const action = 'Use Redis 7.0 or later, or Valkey';
  return [
    {
      level: isOld ? 'problem' : 'ok',
      subject: 'version',
      found: `${name} ${version}`,
      ...(isOld && { action }),
    },
  ];
}

function memory(info: Info): Finding[] {
  const policy = info.get('maxmemory_policy') ?? '';
  if (policy !== 'noeviction')
    return [
      {
        level: 'problem',
        subject: 'maxmemory-policy',
        found: `${policy}: a lock or a queue would lose a part of its keys`,
        action: 'Set maxmemory-policy to noeviction',
      },
    ];
  const limit = info.get('maxmemory') === '0' ? undefined : info.get('maxmemory_human');
  if (limit !== undefined) return [{ level: 'ok', subject: 'memory', found: `noeviction, up to ${limit}` }];
  return [
    {
      level: 'advice',
      subject: 'memory',
      found: 'noeviction, without a limit: the system may kill the server when memory is short',
      action: 'Set maxmemory below the memory of the machine',
    },
  ];
}

function persistence(info: Info): Finding[] {
  const failed = ['aof_last_write_status', 'rdb_last_bgsave_status'].filter(
    (field) => info.has(field) && info.get(field) !== 'ok',
  );
  if (failed.length > 0)
    return [
      {
        level: 'problem',
        subject: 'persistence',
        found: `the last write to disk failed (${failed.join(', ')})`,
        action: 'Look at the disk and at the log of the server',
      },
    ];
  if (info.get('aof_enabled') === '1')
    return [{ level: 'ok', subject: 'persistence', found: 'append-only file' }];
  return [
    {
      level: 'problem',
      subject: 'persistence',
      found: 'no append-only file: a restart loses the last tasks, messages and sales',
      action: 'Set appendonly to yes',
    },
  ];
}

function replication(info: Info): Finding[] {
  if (info.get('role') === 'slave')
    return [
      {
        level: 'problem',
        subject: 'role',
        found: 'a replica, which takes no writes',
        action: 'Name the master, or use REDIS_SENTINELS or REDIS_CLUSTER_NODES',
      },
    ];
  const replicas = Number(info.get('connected_slaves') ?? 0);
  if (replicas > 0) return [{ level: 'ok', subject: 'replicas', found: String(replicas) }];
  return [
    {
      level: 'advice',
      subject: 'replicas',
      found: 'none: the apps wait while this server is down',
      action: 'Add a replica, and Sentinel or Cluster',
    },
  ];
}

async function latency(node: Redis): Promise<Finding> {
  const took: number[] = [];
  for (let i = 0; i < PINGS; i += 1) {
    const startedAt = performance.now();
    await node.ping();
    took.push(performance.now() - startedAt);
  }
  const median = took.toSorted((a, b) => a - b)[PINGS / 2]!;
  const found = `${median.toFixed(1)} ms for PING`;
  if (median < SLOW_MS) return { level: 'ok', subject: 'latency', found };
  const action =
    'Run the apps near Redis; raise REDIS_COMMAND_TIMEOUT_MS and REQUEST_DEADLINE_MS if that cannot be';
  return { level: median < TOO_SLOW_MS ? 'advice' : 'problem', subject: 'latency', found, action };
}

async function clock(node: Redis): Promise<Finding> {
  const before = Date.now();
  const [seconds, micros] = await node.time();
  const after = Date.now();
  const serverMs = Number(seconds) * 1_000 + Number(micros) / 1_000;
  const apartMs = Math.max(0, before - serverMs, serverMs - after);
  const found = `${Math.round(apartMs)} ms apart`;
  if (apartMs < CLOCK_MS) return { level: 'ok', subject: 'clock', found };
  return { level: 'advice', subject: 'clock', found, action: 'Run NTP on both machines' };
}

async function cluster(node: Redis, info: Info, isCluster: boolean): Promise<Finding[]> {
  if (info.get('cluster_enabled') !== '1') return [];
  if (!isCluster)
    return [
      {
        level: 'problem',
        subject: 'Cluster',
        found: 'the server belongs to a Cluster, and the settings name a single server',
        action: 'Set REDIS_CLUSTER_NODES in place of REDIS_URL',
      },
    ];
  const text = await node.cluster('INFO');
  const [, state = ''] = /cluster_state:(\w+)/.exec(text) ?? [];
  const [, slots = '0'] = /cluster_slots_ok:(\d+)/.exec(text) ?? [];
  const isOk = state === 'ok' && Number(slots) === SLOTS;
  const found = `state ${state}, ${slots} of ${SLOTS} slots`;
  const action = 'Repair it: redis-cli --cluster fix';
  return [{ level: isOk ? 'ok' : 'problem', subject: 'Cluster', found, ...(!isOk && { action }) }];
}

async function rightsOf(redis: Redis | Cluster, prefix: string): Promise<Finding[]> {
  const subject = 'rights';
  const refused = await refusedOf(redis, prefix);
  if (refused.length > 0) {
    const action = `Give the user +@all on ~${prefix}* and &*; docs/operations/redis.md has smaller rights`;
    return [{ level: 'problem', subject, found: `refused: ${refused.join(', ')}`, action }];
  }
  const findings: Finding[] = [{ level: 'ok', subject, found: 'all commands are allowed' }];
  // The API adds to the prefix for a tenant, and for limits of requests.
  for (const [user, ownPrefix] of [
    ['tenants', `${prefix}.t.doctor`],
    ['limits of requests', `${prefix}.limits`],
  ] as const) {
    const [first] = await refusedOf(redis, ownPrefix);
    if (first === undefined) continue;
    const action = `Give the user ~${prefix}.* and &${prefix}.*, if the API has ${user}`;
    findings.push({ level: 'advice', subject, found: `refused for ${user}: ${first}`, action });
  }
  return findings;
}

/** Calls that the packages need, on keys under the prefix: a user may be forbidden a part of them. Each refused one, with the reply. */
async function refusedOf(redis: Redis | Cluster, prefix: string): Promise<string[]> {
  const key = new KeySpace('doctor', prefix).entity('probe').key('value');
  const calls: readonly (readonly [command: string, ...args: CommandArgument[]])[] = [
    ['set', key, '1', 'PX', 10_000],
    ['eval', "return redis.call('GET', KEYS[1])", 1, key],
    ['eval_ro', "return redis.call('TIME')", 1, key],
    ['spublish', key, ''],
    ['del', key],
    ['bzpopmin', key, 0.01],
    ['xadd', key, '*', 'a', '1'],
    ['del', key],
  ];
  const refused: string[] = [];
  for (const [command, ...args] of calls) {
    try {
      await redis.call(command, ...args);
    } catch (error) {
      refused.push(`${command.toUpperCase()} (${(error as Error).message})`);
    }
  }
  return refused;
}
