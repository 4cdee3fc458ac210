/** Redis on a page: its memory and load, its slow commands, and the findings of the doctor. */
import { examine } from '@mortise/app-common/doctor';
import { Sampled } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { Inject, Injectable } from '@nestjs/common';
import { Cluster } from 'ioredis';
import type { Redis } from 'ioredis';

import type { Config } from '../config.js';
import { CONFIG, REDIS } from '../tokens.js';
import type { ClusterFigures, LiveFigures, NodeFigures, RedisReport, SlowCommand } from './figures.js';

const EVERY_MS = 2_000;
const SLOW_COMMANDS = 20;

@Injectable()
export class RedisFigures {
  readonly #redis: Redis | Cluster;
  readonly #prefix: string;
  readonly #sampled: Sampled<LiveFigures>;

  constructor(@Inject(REDIS) redis: RedisClient, @Inject(CONFIG) { MORTISE_PREFIX: prefix }: Config) {
    this.#redis = redis as unknown as Redis | Cluster;
    this.#prefix = prefix;
    this.#sampled = new Sampled(() => this.#figures(), EVERY_MS, isSame);
  }

  /** Some 25 round trips to each master. Rejects with errors of Redis. */
  async report(): Promise<RedisReport> {
    const [figures, slow, findings] = await Promise.all([
      this.#figures(),
      this.#slow(),
      examine(this.#redis, this.#prefix),
    ]);
    return { ...figures, slow, findings };
  }

  /** The figures of the masters and of the Cluster, and each change until the signal: read every two seconds, once for all followers. */
  follow(signal: AbortSignal): AsyncIterable<LiveFigures> {
    return this.#sampled.follow(signal);
  }

  get #masters(): Redis[] {
    return this.#redis instanceof Cluster ? this.#redis.nodes('master') : [this.#redis];
  }

  async #figures(): Promise<LiveFigures> {
    const [nodes, cluster] = await Promise.all([this.#nodes(), this.#cluster()]);
    return { nodes, cluster };
  }

  async #cluster(): Promise<ClusterFigures | null> {
    const [node] = this.#masters;
    const text = node && (await unlessRefused(node.call('CLUSTER', 'INFO') as Promise<string>));
    if (!text) return null;
    const numberOf = (name: string): number => Number(fieldOf(text, name) ?? 0);
    return {
      slotsCovered: numberOf('cluster_slots_ok'),
      masters: numberOf('cluster_size'),
      isOk: fieldOf(text, 'cluster_state') === 'ok',
    };
  }

  #nodes(): Promise<NodeFigures[]> {
    return Promise.all(
      this.#masters.map(async (node) => {
        const text = (await unlessRefused(node.info())) ?? '';
        const numberOf = (name: string): number | null => {
          const found = fieldOf(text, name);
          return found === null ? null : Number(found);
        };
        return {
          address: addressOf(node),
          version: fieldOf(text, 'valkey_version') ?? fieldOf(text, 'redis_version'),
          usedBytes: numberOf('used_memory'),
          maxBytes: numberOf('maxmemory'),
          policy: fieldOf(text, 'maxmemory_policy'),
          opsPerSecond: numberOf('instantaneous_ops_per_sec'),
          clients: numberOf('connected_clients'),
          evictedKeys: numberOf('evicted_keys'),
        };
      }),
    );
  }

  async #slow(): Promise<SlowCommand[] | null> {
    const logs = await Promise.all(
      this.#masters.map(async (node) => {
        const entries = (await unlessRefused(node.call('SLOWLOG', 'GET', SLOW_COMMANDS))) as
          | SlowEntry[]
          | null;
        return entries?.map(([, seconds, micros, words]) => ({
          address: addressOf(node),
          at: seconds * 1_000,
          micros,
          command: words[0]?.toUpperCase() ?? '',
          arguments: words.length - 1,
        }));
      }),
    );
    const known = logs.filter((log) => log !== undefined);
    if (known.length === 0) return null;
    return known
      .flat()
      .toSorted((a, b) => b.at - a.at)
      .slice(0, SLOW_COMMANDS);
  }
}

type SlowEntry = readonly [id: number, seconds: number, micros: number, words: readonly string[]];

function addressOf({ options: { host = '', port } }: Redis): string {
  return `${host}:${port ?? ''}`;
}

function isSame(a: LiveFigures, b: LiveFigures): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** A line `name:value` of INFO and CLUSTER INFO. */
function fieldOf(text: string, name: string): string | null {
  return new RegExp(`^${name}:(.*)\\r?$`, 'm').exec(text)?.[1]?.trim() ?? null;
}

/** Managed services, and users without the right, refuse some commands; a server without Cluster refuses those of Cluster. */
async function unlessRefused<Reply>(reply: Promise<Reply>): Promise<Reply | null> {
  try {
    return await reply;
  } catch (error) {
    if (
      /^(?:NOPERM|ERR unknown (?:sub)?command|ERR This instance has cluster support disabled)/.test(
        (error as Error).message,
      )
    )
      return null;
    throw error;
  }
}
