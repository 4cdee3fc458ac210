/** Injects the faults of servers and links. */
import { setTimeout as pause } from 'node:timers/promises';
import type { RedisServer } from '@mortise/redis-server';
import { keySlot } from '@mortise/redis-server';
import { until } from '../until.js';
import type { LinkOrder } from '../links/config.js';
import type { DrawnFault, FaultName } from './draw.js';
import { fillDisk, whyNoFullDisk } from './full-disk.js';
import type { Group } from './group.js';

/** Where a fault hit, or why it was skipped, and whether such a fault may lose writes. */
interface Hit {
  readonly where: string;
  readonly mayForget?: boolean;
  readonly isFlush?: boolean;
  readonly skipped?: string;
}

type ServerFault = Exclude<FaultName, 'a process is killed' | 'a process is stopped'>;

const REPLACED_WITHIN_MS = 60_000;
/** Shorter than the time after which a server counts as down. */
const STILL_MS = 1_200;
const HALF_OPEN_MS = 4_000;
const DELAYED_MS = 8_000;
const MOST_DELAY_MS = 120;
const LOST_REPLIES_MS = 1_500;
const FULL_MS = 4_000;
const SETTLE_TRIES = 3;
/** Hash tags of the workloads' keys. */
const TAGS = ['q', 'a', 'b', 'lock', 'lock 1', 'guild', 'main', 'rows', 'logs', 'pages'];

export class Injector {
  readonly #group: Group;
  readonly #order: (order: LinkOrder) => void;

  constructor(group: Group, order: (order: LinkOrder) => void) {
    this.#group = group;
    this.#order = order;
  }

  /** Resolves when the fault is over, and all servers agree again. */
  async inject(name: ServerFault, random: number): Promise<Hit> {
    const hit = await this.#faults[name](random);
    await this.settled();
    return hit;
  }

  /** Tries several times: on a busy machine, one try may end before the servers agree. */
  async settled(): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#group.settled();
        return;
      } catch (error) {
        if (attempt === SETTLE_TRIES) throw error;
      }
    }
  }

  readonly #faults: Readonly<Record<ServerFault, (random: number) => Promise<Hit>>> = {
    'a master is killed': async (random) => {
      const master = await this.#master(random);
      await master.kill();
      await this.#isReplaced(master);
      await master.restart();
      return { where: nameOf(master), mayForget: true };
    },
    'a master restarts at once': async (random) => {
      const master = await this.#master(random);
      await master.kill();
      await master.restart();
      // With `everysec`, a write waits in the memory of the server while an fsync of earlier ones goes on.
      return { where: nameOf(master), mayForget: true };
    },
    'a replica is killed': async (random) => {
      const masters = await this.#group.masters();
      const replicas = this.#group.servers.filter((server) => !masters.includes(server));
      const replica = pick(replicas, random);
      await replica.kill();
      await replica.restart();
      return { where: nameOf(replica) };
    },
    'a master is stopped': async (random) => {
      const master = await this.#master(random);
      master.pause();
      try {
        await this.#isReplaced(master);
      } finally {
        master.resume();
      }
      return { where: nameOf(master), mayForget: true };
    },
    'a master stands still': async (random) => {
      const master = await this.#master(random);
      master.pause();
      await pause(STILL_MS);
      master.resume();
      return { where: nameOf(master) };
    },
    'half-open links': async (random) => {
      const { port } = await this.#master(random);
      return this.#linked([port], { mode: 'half-open' }, HALF_OPEN_MS);
    },
    'delayed links': async (random) => {
      const ports = this.#group.servers.map(({ port }) => port);
      const [requestsMs, repliesMs] = [random * MOST_DELAY_MS, (1 - random) * MOST_DELAY_MS];
      return this.#linked(ports, { mode: 'delayed', requestsMs, repliesMs }, DELAYED_MS);
    },
    'lost replies': async (random) => {
      const { port } = await this.#master(random);
      return this.#linked([port], { mode: 'lost replies' }, LOST_REPLIES_MS);
    },
    FLUSHALL: async () => {
      const masters = await this.#group.masters();
      await Promise.all(masters.map((master) => master.command('FLUSHALL')));
      return { where: 'all masters', mayForget: true, isFlush: true };
    },
    'SCRIPT FLUSH': async () => {
      await Promise.all(this.#group.servers.map((server) => server.command('SCRIPT', 'FLUSH')));
      return { where: 'all servers' };
    },
    'CLIENT KILL': async (random) => {
      const master = await this.#master(random);
      for (const type of ['normal', 'pubsub']) await master.command('CLIENT', 'KILL', 'TYPE', type);
      return { where: nameOf(master) };
    },
    failover: async (random) => {
      const master = await this.#master(random);
      await this.#group.failover(master);
      return { where: nameOf(master), mayForget: this.#group.losesByFailover };
    },
    'full memory': async () => {
      const masters = await this.#group.masters();
      for (const master of masters) {
        const [, used = ''] = /used_memory:(\d+)/.exec(String(await master.command('INFO', 'memory'))) ?? [];
        await master.command('CONFIG', 'SET', 'maxmemory', used);
      }
      await pause(FULL_MS);
      for (const master of masters) await master.command('CONFIG', 'SET', 'maxmemory', '0');
      return { where: 'all masters' };
    },
    'full disk': async (random) => {
      const skipped = await whyNoFullDisk();
      if (skipped !== undefined) return { where: 'nowhere', skipped };
      const master = await this.#master(random);
      const free = await fillDisk(master);
      await pause(FULL_MS);
      await free();
      const isWritten = async (): Promise<boolean> =>
        String(await master.command('INFO', 'persistence')).includes('aof_last_write_status:ok');
      await until('the append-only file to be written again', isWritten);
      return { where: nameOf(master) };
    },
    'a slot moves': async (random) => {
      const masters = await this.#group.masters();
      const tag = pick(TAGS, random);
      const target = pick(masters, (random * TAGS.length) % 1);
      await this.#group.moveSlot!(keySlot(`{${tag}}`), target);
      return { where: `{${tag}} to ${nameOf(target)}` };
    },
  };

  async #master(random: number): Promise<RedisServer> {
    return pick(await this.#group.masters(), random);
  }

  async #isReplaced(master: RedisServer): Promise<void> {
    const isReplaced = async (): Promise<boolean> => !(await this.#group.masters()).includes(master);
    await until(`a master in place of ${nameOf(master)}`, isReplaced, REPLACED_WITHIN_MS);
  }

  async #linked(ports: readonly number[], order: Omit<LinkOrder, 'port'>, ms: number): Promise<Hit> {
    for (const port of ports) this.#order({ ...order, port });
    await pause(ms);
    for (const port of ports) this.#order({ port, mode: 'pass' });
    return { where: ports.length === 1 ? `port ${ports[0]}` : 'all servers' };
  }
}

export type { Hit };

export function isOfServers(fault: DrawnFault): fault is DrawnFault & { readonly name: ServerFault } {
  return fault.name !== 'a process is killed' && fault.name !== 'a process is stopped';
}

function nameOf({ port }: RedisServer): string {
  return `port ${port}`;
}

function pick<Value>(values: readonly Value[], random: number): Value {
  return values[Math.floor(random * values.length)]!;
}
