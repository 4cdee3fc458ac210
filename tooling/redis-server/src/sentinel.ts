import { until } from '@mortise/server-process';

import { replicated } from './replicated.js';
import { assertSees, linkedReplicas, masterSeenBy } from './sentinel-view.js';
import type { RedisServer } from './server.js';

/** The sentinels' name for the master. */
export const MASTER_NAME = 'mortise';

const SETTLE_DEADLINE_MS = 30_000;

/** A running master with replicas, watched by sentinels. All of them may be killed, paused and restarted one by one. */
export class RedisSentinel {
  /** The name of the master, for the constructor of a client. */
  readonly name = MASTER_NAME;
  /** For the constructor of a client. */
  readonly sentinels: { host: string; port: number }[];
  /** The master of the start, then the replicas: failovers don't change the order. */
  readonly servers: RedisServer[];
  readonly sentinelServers: RedisServer[];

  /** For this package: users call `startSentinel()`. */
  constructor(servers: RedisServer[], sentinelServers: RedisServer[]) {
    this.servers = servers;
    this.sentinelServers = sentinelServers;
    this.sentinels = sentinelServers.map(({ host, port }) => ({ host, port }));
  }

  /** The master in the opinion of the sentinel with the newest configuration. */
  async master(): Promise<RedisServer> {
    const opinions = await Promise.all(
      running(this.sentinelServers).map((sentinel) => masterSeenBy(sentinel, MASTER_NAME)),
    );
    const newest = opinions.toSorted((a, b) => b.epoch - a.epoch)[0];
    const server = this.servers.find(({ port }) => port === newest?.port);
    if (server === undefined) throw new Error('no sentinel knows a master');
    return server;
  }

  /** Waits until the replicas that run have what was written before the call, so that it outlives the master. */
  async replicated(): Promise<void> {
    const master = await this.master();
    await replicated(
      master,
      running(this.servers).filter((server) => server !== master),
    );
  }

  /**
   * Has the sentinels promote a replica, and waits until they agree on it and all servers that run are linked to it.
   * No write before the call is lost.
   */
  async failover(): Promise<void> {
    const before = await this.master();
    if (before.isAnswering) await this.replicated();
    const what = `the sentinels to replace ${before.port}`;
    const isReplaced = async (): Promise<boolean> => {
      if ((await this.master()) !== before) return true;
      await running(this.sentinelServers)[0]?.command('SENTINEL', 'FAILOVER', MASTER_NAME);
      return false;
    };
    await this.#until(isReplaced, what);
    await this.settled();
  }

  /**
   * Waits until all sentinels that run have the same master and see all servers and sentinels that run as up, and all
   * replicas that run are linked to the master.
   */
  async settled(): Promise<void> {
    const isSettled = async (): Promise<true> => {
      const master = await this.master();
      const servers = running(this.servers);
      const linked = await linkedReplicas(master);
      if (linked !== servers.length - 1) throw new Error(`${linked} replicas are linked to ${master.port}`);
      const sentinels = running(this.sentinelServers);
      const expected = { name: MASTER_NAME, master, servers, sentinels };
      await Promise.all(sentinels.map((sentinel) => assertSees(sentinel, expected)));
      return true;
    };
    await this.#until(isSettled, 'the sentinels to agree, and all replicas to be linked');
  }

  /** Stops all processes and removes their directories. Idempotent. */
  async stop(): Promise<void> {
    await Promise.all([...this.sentinelServers, ...this.servers].map((server) => server.stop()));
  }

  async #until(condition: () => Promise<boolean>, what: string): Promise<void> {
    const all = [...this.sentinelServers, ...this.servers];
    const details = (): string => all.map((server) => `${server.port}:\n${server.logTail(5)}`).join('\n');
    await until(condition, { what, deadlineMs: SETTLE_DEADLINE_MS, everyMs: 50, details });
  }
}

function running(servers: RedisServer[]): RedisServer[] {
  return servers.filter((server) => server.isAnswering);
}
