/** Which losses the servers exclude, as their settings say: the boot of an app logs it. */
import type { Logger } from 'pino';
import type { Cluster, Redis } from 'ioredis';

import { infoOf, isRefusal, mastersOf } from './server-info.js';

const UNKNOWN = 'unknown';
/** Between two values where masters differ. */
const OR = ' or ';

/** Settings as the server names them. Values of masters that differ stand together, such as `yes or no`. */
export interface Guarantees {
  readonly appendonly: string;
  readonly appendfsync: string;
  readonly replicas: string;
  readonly 'min-replicas-to-write': string;
  readonly 'maxmemory-policy': string;
}

/** Two round trips to each master. A value that INFO and CONFIG don't tell is `unknown`. */
export async function guaranteesOf(redis: Redis | Cluster): Promise<Guarantees> {
  const masters = await Promise.all(mastersOf(redis).map(guaranteesOfNode));
  const all = (name: keyof Guarantees): string =>
    [...new Set(masters.map((master) => master[name]))].toSorted().join(OR) || UNKNOWN;
  return {
    appendonly: all('appendonly'),
    appendfsync: all('appendfsync'),
    replicas: all('replicas'),
    'min-replicas-to-write': all('min-replicas-to-write'),
    'maxmemory-policy': all('maxmemory-policy'),
  };
}

/**
 * Logs them in one line, once Redis is there for the first time. Resolves when that is done, or at once if Redis is not there yet. Never
 * rejects.
 */
export async function logGuarantees(redis: Redis | Cluster, log: Logger): Promise<void> {
  const ask = async (): Promise<void> => {
    try {
      const guarantees = await guaranteesOf(redis);
      redis.off('ready', onReady);
      log.info(guarantees, 'redis settings against loss');
    } catch {
      // Redis is gone again: it is asked when it is back.
    }
  };
  const onReady = (): void => void ask();
  redis.on('ready', onReady);
  if (redis.status === 'ready') await ask();
}

async function guaranteesOfNode(node: Redis): Promise<Guarantees> {
  const [info, settings] = await Promise.all([infoOf(node), settingsOf(node)]);
  const isOn = info?.get('aof_enabled');
  const setting = (name: string): string => settings?.get(name) ?? UNKNOWN;
  return {
    appendonly: isOn === undefined ? setting('appendonly') : isOn === '1' ? 'yes' : 'no',
    appendfsync: setting('appendfsync'),
    replicas: info?.get('connected_slaves') ?? UNKNOWN,
    'min-replicas-to-write': setting('min-replicas-to-write'),
    'maxmemory-policy': info?.get('maxmemory_policy') ?? setting('maxmemory-policy'),
  };
}

async function settingsOf(node: Redis): Promise<ReadonlyMap<string, string> | undefined> {
  try {
    const names = ['appendonly', 'appendfsync', 'min-replicas-to-write', 'maxmemory-policy'];
    const flat = (await node.call('CONFIG', 'GET', ...names)) as string[] | Record<string, string>;
    if (!Array.isArray(flat)) return new Map(Object.entries(flat));
    return new Map(flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1]!] as const] : [])));
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
}
