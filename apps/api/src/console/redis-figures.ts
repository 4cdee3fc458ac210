/** Redis on a page: its memory and load, its slow commands, and the findings of the doctor. */
import { examine } from '@mortise/app-common/doctor';
import type { Finding } from '@mortise/app-common/doctor';
import { Sampled } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { Inject, Injectable } from '@nestjs/common';
import { Cluster } from 'ioredis';
import type { Redis } from 'ioredis';

import type { Config } from '../config.js';
import { CONFIG, REDIS } from '../tokens.js';

const EVERY_MS = 2_000;
const SLOW_COMMANDS = 20;

/** Of one master. Null where the server refuses to tell, as managed services may. */
export interface NodeFigures {
  readonly address: string;
  readonly version: string | null;
  readonly usedBytes: number | null;
  /** 0: no limit. */
  readonly maxBytes: number | null;
  readonly policy: string | null;
  readonly opsPerSecond: number | null;
  readonly clients: number | null;
}

export interface SlowCommand {
  readonly address: string;
  readonly at: number;
  readonly micros: number;
  /** The name alone: arguments have names and payloads. */
  readonly command: string;
  readonly arguments: number;
}

export interface RedisReport {
  readonly nodes: readonly NodeFigures[];
  readonly slow: readonly SlowCommand[] | null;
  readonly findings: readonly Finding[];
}

@Injectable()
export class RedisFigures {
  readonly #redis: Redis | Cluster;
  readonly #prefix: string;
  readonly #sampled: Sampled<readonly NodeFigures[]>;

  constructor(@Inject(REDIS) redis: RedisClient, @Inject(CONFIG) { MORTISE_PREFIX: prefix }: Config) {
    this.#redis = redis as unknown as Redis | Cluster;
    this.#prefix = prefix;
    const same = (a: readonly NodeFigures[], b: readonly NodeFigures[]): boolean =>
      JSON.stringify(a) === JSON.stringify(b);
    this.#sampled = new Sampled<readonly NodeFigures[]>(() => this.#figures(), EVERY_MS, same);
  }

  /** Some 25 round trips to each master. Rejects with errors of Redis. */
  async report(): Promise<RedisReport> {
    const [nodes, slow, findings] = await Promise.all([
      this.#figures(),
      this.#slow(),
      examine(this.#redis, this.#prefix),
    ]);
    return { nodes, slow, findings };
  }

  /** The figures of the masters, and each change until the signal: read every two seconds, once for all followers. */
  follow(signal: AbortSignal): AsyncIterable<readonly NodeFigures[]> {
    return this.#sampled.follow(signal);
  }

  get #masters(): Redis[] {
    return this.#redis instanceof Cluster ? this.#redis.nodes('master') : [this.#redis];
  }

  #figures(): Promise<NodeFigures[]> {
    return Promise.all(
      this.#masters.map(async (node) => {
        const text = await unlessRefused(node.info());
        const fieldOf = (name: string): string | null =>
          new RegExp(`^${name}:(.*)\\r?$`, 'm').exec(text ?? '')?.[1]?.trim() ?? null;
        const numberOf = (name: string): number | null => {
          const found = fieldOf(name);
          return found === null ? null : Number(found);
        };
        return {
          address: addressOf(node),
          version: fieldOf('valkey_version') ?? fieldOf('redis_version'),
          usedBytes: numberOf('used_memory'),
          maxBytes: numberOf('maxmemory'),
          policy: fieldOf('maxmemory_policy'),
          opsPerSecond: numberOf('instantaneous_ops_per_sec'),
          clients: numberOf('connected_clients'),
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

/** Managed services, and users without the right, refuse some commands. */
async function unlessRefused<Reply>(reply: Promise<Reply>): Promise<Reply | null> {
  try {
    return await reply;
  } catch (error) {
    if (/^(?:NOPERM|ERR unknown (?:sub)?command)/.test((error as Error).message)) return null;
    throw error;
  }
}
