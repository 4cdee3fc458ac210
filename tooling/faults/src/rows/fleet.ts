import { once } from 'node:events';
import type { Cluster, Redis } from 'ioredis';
import { RowCache } from '@mortise/cache/rows';
import { Child } from '../child.js';
import { connectTo } from '../connect.js';
import type { RedisAddress } from '../locks/config.js';
import type { Fault, Loaded } from './config.js';
import { faultKey, sourceKey, TABLE } from './config.js';

export interface FleetOptions {
  readonly redis: RedisAddress;
  readonly prefix: string;
  readonly rows: number;
  readonly everyMs: number;
  readonly leaseMs: number;
  /** Whether `loads` gets each load. Default: yes. */
  readonly keepsLoads?: boolean;
}

async function load(): Promise<never> {
  throw new Error('only daemons load');
}

/** Daemons over one table, and the source of its rows. */
export class RowFleet {
  readonly redis: Redis | Cluster;
  readonly rows: RowCache<string>;
  readonly ids: readonly string[];
  readonly daemons: Child[] = [];
  readonly loads: Loaded[] = [];
  readonly #options: FleetOptions;
  #version = 0;

  constructor(options: FleetOptions) {
    this.#options = options;
    this.redis = connectTo(options.redis);
    this.rows = new RowCache<string>(this.redis, TABLE, { prefix: options.prefix, load });
    this.ids = Array.from({ length: options.rows }, (_, index) => `row ${index}`);
  }

  /** Schedules all rows and starts the daemons. */
  async start(daemons: number): Promise<void> {
    await this.change();
    await this.rows.scheduleAll(this.ids, { everyMs: this.#options.everyMs });
    await Promise.all(Array.from({ length: daemons }, () => this.add()));
  }

  async add(): Promise<Child> {
    const { redis, prefix, leaseMs } = this.#options;
    let ready!: () => void;
    const isReady = new Promise<void>((resolve) => {
      ready = resolve;
    });
    const config = { redis, prefix, leaseMs };
    const child = new Child('rows/daemon.js', config, prefix, (message) => {
      if (message === 'ready') ready();
      else if (this.#options.keepsLoads !== false) this.loads.push(message as Loaded);
    });
    this.daemons.push(child);
    await Promise.race([isReady, child.hasEnded.then(() => Promise.reject(new Error(child.output)))]);
    return child;
  }

  get running(): Child[] {
    return this.daemons.filter((daemon) => daemon.isRunning);
  }

  /** Gives all rows of the source a new version, which is returned. */
  async change(): Promise<string> {
    this.#version += 1;
    const version = String(this.#version);
    await this.redis.hset(sourceKey(this.#options.prefix), ...this.ids.flatMap((id) => [id, version]));
    return version;
  }

  async setFault(fault: Fault): Promise<void> {
    await this.redis.set(faultKey(this.#options.prefix), fault);
  }

  /** How many rows readers have of the version. */
  async count(version: string): Promise<number> {
    const versions = await this.versions();
    return [...versions.values()].filter((one) => one === Number(version)).length;
  }

  /** The version of each row that readers have; 0 of one that isn't there. */
  async versions(): Promise<Map<string, number>> {
    const rows = await this.rows.getMany(this.ids);
    return new Map(this.ids.map((id) => [id, Number(rows.get(id) ?? 0)]));
  }

  /** The age of the oldest row, in ms; Infinity when one is not there. */
  async oldestMs(): Promise<number> {
    const states = await Promise.all(this.ids.map((id) => this.rows.inspect(id)));
    return Math.max(...states.map((state) => (state?.row == null ? Infinity : state.ageMs!)));
  }

  /** Removes the source. */
  async removeSource(): Promise<void> {
    const { prefix } = this.#options;
    await Promise.all([this.redis.del(sourceKey(prefix)), this.redis.del(faultKey(prefix))]);
  }

  /** Ends all daemons. */
  async end(): Promise<void> {
    for (const daemon of this.running) {
      daemon.resume();
      daemon.send('stop');
    }
    await Promise.all(
      this.running.map(async (daemon) => {
        const timer = setTimeout(() => void daemon.kill(), 5_000);
        await daemon.hasEnded;
        clearTimeout(timer);
      }),
    );
  }

  async dispose(): Promise<void> {
    await this.end();
    this.redis.disconnect();
    if (this.redis.status !== 'end') await once(this.redis, 'end').catch(() => undefined);
  }
}
