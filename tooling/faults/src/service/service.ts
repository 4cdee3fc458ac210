/**
 * The whole service as processes: two APIs, three workers, PostgreSQL, an SMTP peer, and Redis with a password, which is one server or
 * a Cluster of three masters and three replicas.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '@mortise/postgres-server';
import type { RedisCluster, RedisServer } from '@mortise/redis-server';
import { startCluster, startSingle } from '@mortise/redis-server';
import { freshPrefix, until } from '@mortise/test-kit';
import { freePort } from '../free-port.js';
import type { Loss } from '../history/operation.js';
import { nowUs } from '../locks/clock.js';
import { MailPeer } from '../mail-peer.js';
import { Program } from '../program.js';
import { LOG_CHANNEL, RANGES_CSV } from './access-logs.js';
import { ServiceClient } from './client.js';

export type Deployment = 'single' | 'cluster';

const PASSWORD = 'secret-of-redis';
const ADMIN_KEY = 'mk_admin_0123456789012345678901';
const APIS = 2;
const WORKERS = 3;
const READY_MS = 120_000;
const FAILOVER_MS = 60_000;
/** The last writes before the death of a master may be on no replica: those of this time. */
const UNREPLICATED_US = 500_000;
/** The table of the cached rows. */
const TABLE = 'stock';

export class Service {
  readonly prefix = freshPrefix();
  /** Between these instants Redis may have forgotten what it had accepted. */
  readonly losses: Loss[] = [];
  readonly programs: Program[] = [];
  /** Of files that the workers read. */
  readonly #directory = mkdtempSync(join(tmpdir(), 'mortise-service-'));

  private constructor(
    readonly deployment: Deployment,
    readonly redis: RedisServer | RedisCluster,
    readonly postgres: Awaited<ReturnType<typeof startPostgres>>,
    readonly peer: MailPeer,
  ) {}

  static async start(deployment: Deployment): Promise<Service> {
    const [redis, postgres, peer] = await Promise.all([
      deployment === 'single'
        ? startSingle({ password: PASSWORD, appendFsync: 'always' })
        : startCluster({ password: PASSWORD }),
      startPostgres(),
      MailPeer.start(),
    ]);
    return new Service(deployment, redis, postgres, peer);
  }

  /** Starts the apps once the tables are there, and returns a client with a key of its own. */
  async boot(): Promise<ServiceClient> {
    const ports = await Promise.all(Array.from({ length: APIS }, freePort));
    const shared = {
      ...this.#place(),
      MORTISE_PREFIX: this.prefix,
      CACHE_TABLES: TABLE,
    };
    for (const port of ports)
      this.programs.push(new Program('api', { ...shared, PORT: String(port), ADMIN_KEY }));
    const ranges = join(this.#directory, 'ranges.csv');
    writeFileSync(ranges, RANGES_CSV);
    const worker = {
      ...shared,
      DATABASE_URL: this.postgres.url,
      SMTP_URL: this.peer.url,
      MAIL_DOMAIN: 'mail.mortise.example',
      WORKER_LEASE_MS: '5000',
      ACCESS_LOG_CHANNEL: LOG_CHANNEL,
      GEO_RANGES: ranges,
    };
    for (let n = 0; n < WORKERS; n += 1) this.programs.push(new Program('worker', worker));
    const addresses = ports.map((port) => `http://127.0.0.1:${port}`);
    await Promise.all(addresses.map((address) => this.#ready(address)));
    const admin = new ServiceClient(addresses, ADMIN_KEY);
    const scopes = [
      ...['market', 'queues', 'locks', 'messaging', 'autocomplete', 'cache'].flatMap((name) => [
        `${name}:read`,
        `${name}:write`,
      ]),
      'queues:admin',
      'ops:read',
    ];
    const { document } = await admin.get('PUT', 'admin/keys/game', { body: { scopes } });
    return new ServiceClient(addresses, document.key);
  }

  /** Kills a worker in the middle of mails. */
  async killWorker(): Promise<void> {
    this.peer.hold();
    await until('the workers are busy', () => this.peer.isHolding);
    await this.programs.find(({ name }) => name === 'worker')!.kill();
    this.peer.release();
  }

  /**
   * Kills the server that has this key. One that is alone is started again with what it had written to disk. In a Cluster a replica
   * takes its place.
   */
  async killMaster(key: string): Promise<void> {
    if (!('ownerOf' in this.redis)) {
      await this.redis.kill();
      await this.redis.restart();
      return;
    }
    const { redis } = this;
    const owner = await redis.ownerOf(key);
    const from = nowUs() - UNREPLICATED_US;
    await owner.kill();
    await until('another owner', async () => (await redis.ownerOf(key)) !== owner, FAILOVER_MS);
    this.losses.push({ from, to: nowUs() });
    await owner.restart();
  }

  /** Waits until the replicas have what was written so far. */
  async replicated(): Promise<void> {
    if ('ownerOf' in this.redis) await this.redis.replicated();
  }

  /** Whether what was accepted between these instants, µs, may be gone. */
  mayBeLost({ calledAt, answeredAt }: { readonly calledAt: number; readonly answeredAt: number }): boolean {
    return this.losses.some(({ from, to }) => calledAt <= to && answeredAt >= from);
  }

  /** Asks all programs to end, and returns their exit codes; those of killed ones are left out. */
  async end(): Promise<(number | null)[]> {
    return Promise.all(this.programs.filter(({ isRunning }) => isRunning).map((program) => program.stop()));
  }

  async dispose(): Promise<void> {
    this.peer.release();
    await Promise.all(this.programs.filter(({ isRunning }) => isRunning).map((program) => program.kill()));
    await Promise.all([this.redis.stop(), this.postgres.stop(), this.peer.stop()]);
    rmSync(this.#directory, { recursive: true });
  }

  #place(): Record<string, string> {
    if (!('startupNodes' in this.redis)) return { REDIS_URL: this.redis.url };
    const nodes = this.redis.startupNodes.map(({ host, port }) => `${host}:${port}`);
    return { REDIS_CLUSTER_NODES: nodes.join(','), REDIS_PASSWORD: PASSWORD };
  }

  async #ready(address: string): Promise<void> {
    await until(
      'the API is ready',
      async () => {
        const failed = this.programs.find(({ isRunning }) => !isRunning);
        if (failed) throw new Error(failed.output);
        const ready = await fetch(`${address}/health/ready`).catch(() => undefined);
        return ready?.status === 200;
      },
      READY_MS,
    );
  }
}
