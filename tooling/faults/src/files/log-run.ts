/**
 * One run: a sender of a directory of logs, three workers that share the counting, one receiver that copies every file; the faults; and the
 * verdict at the end. The counts have to equal those of a single pass over the logs, every copy its log, and nothing of the files may be
 * left in Redis.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dayKeys, DIMENSIONS } from '@mortise/messaging/log-aggregation';
import { startProxy } from '@mortise/redis-server';
import { until } from '../until.js';
import type { Cluster, Redis } from 'ioredis';
import { connectTo } from '../connect.js';
import type { RedisAddress } from '../locks/config.js';
import { Actor } from './actor.js';
import type { ActorConfig, Role, Sabotage } from './config.js';
import { describeStored, keysOf, leftoversOf } from './stored.js';
import { countOnce, rangesCsv, writeLogs } from './logs.js';

export interface LogRunOptions {
  readonly prefix: string;
  readonly files: number;
  /** After each block that is copied. */
  readonly pauseMs: number;
  readonly sabotage?: Sabotage;
}

/** Processes that ask a group of servers for their master have no proxies. */
type GroupAddress = Exclude<RedisAddress, { url: string }>;

export interface Verdict {
  /** The first differences between the counts and those of a single pass. */
  readonly miscounted: readonly string[];
  /** Files whose copy is not the log. */
  readonly miscopied: readonly string[];
  /** Keys that should not be there. */
  readonly leftovers: readonly string[];
  /** Refusals that no fault explains. */
  readonly unexplained: readonly string[];
}

export const GOOD: Verdict = { miscounted: [], miscopied: [], leftovers: [], unexplained: [] };

const WORKERS = 3;
const TIMEOUT_MS = 90_000;
/** Marks and staged segments go within this time; others are in the verdict. */
const FORGOTTEN_WITHIN_MS = 30_000;
const MOST_DIFFERENCES = 10;
/**
 * A process may be so late that another one takes its lease: then it is refused, and begins again. A client may give up a master before its
 * replica has taken over. A server refuses while it can't do what it is asked for, such as with a full disk or memory.
 */
const EXPLAINED =
  /: (?:(?:MISCONF|OOM|READONLY|CLUSTERDOWN|LOADING|MASTERDOWN) .*|ERR_LEASE_LOST|ERR_LEASE_TOO_SHORT|ERR_CHECKPOINT_CONFLICT|ERR_REDIS_UNREACHABLE|Connection is closed\.|Too many Cluster redirections\..*|.* was neither done\(\) nor failed: it will come again)$/;

export class LogRun {
  readonly redis: Redis | Cluster;
  readonly actors: readonly Actor[];
  readonly #prefix: string;
  readonly #root: string;
  #hasForgotten = false;

  private constructor(redis: Redis | Cluster, actors: readonly Actor[], prefix: string, root: string) {
    this.redis = redis;
    this.actors = actors;
    this.#prefix = prefix;
    this.#root = root;
  }

  /** Writes the logs, and resolves when all processes run. */
  static async start(
    server: { url: string; port: number } | GroupAddress,
    options: LogRunOptions,
  ): Promise<LogRun> {
    const { prefix, files, pauseMs, sabotage } = options;
    const root = mkdtempSync(join(tmpdir(), 'mortise-faults-'));
    for (const name of ['logs', 'copies']) mkdirSync(join(root, name));
    writeLogs(join(root, 'logs'), files);
    writeFileSync(join(root, 'ranges.csv'), rangesCsv());
    const workers = Array.from({ length: WORKERS }, (_, index) => `worker-${index}`);
    const actorOf = async (role: Role, name: string, index = 0): Promise<Actor> => {
      const proxy = 'url' in server ? await startProxy(server) : undefined;
      const config: ActorConfig = {
        role,
        name,
        receivers: [...workers, 'copier'],
        share: { index, of: WORKERS },
        directory: join(root, role === 'send' ? 'logs' : 'copies'),
        ranges: join(root, 'ranges.csv'),
        notes: join(root, 'notes'),
        redis: proxy ? { url: proxy.url } : server,
        prefix,
        pauseMs,
        ...(sabotage && { sabotage }),
      };
      return new Actor(config, proxy);
    };
    writeFileSync(join(root, 'notes'), '');
    const actors = await Promise.all([
      actorOf('send', 'sender'),
      ...workers.map((name, index) => actorOf('count', name, index)),
      actorOf('copy', 'copier'),
    ]);
    const run = new LogRun(connectTo(server), actors, prefix, root);
    try {
      await Promise.all(actors.map(({ isReady }) => isReady));
      return run;
    } catch (error) {
      await run.dispose();
      throw error;
    }
  }

  of(role: Role): Actor[] {
    return this.actors.filter(({ config }) => config.role === role);
  }

  get kills(): number {
    return this.actors.reduce((sum, { kills }) => sum + kills, 0);
  }

  /** The bytes of all copies. Holes count, and the verdict finds them. */
  get copiedBytes(): number {
    const copies = join(this.#root, 'copies');
    return readdirSync(copies).reduce((sum, name) => sum + statSync(join(copies, name)).size, 0);
  }

  get hasEnded(): boolean {
    return this.of('send')[0]!.isDone;
  }

  /** The lines of all days that are counted so far. */
  async countedLines(): Promise<number> {
    const totals = await keysOf(this.redis, `${this.#prefix}:aggregates:*:total`);
    const lines = await Promise.all(totals.map((key) => this.redis.get(key)));
    return lines.reduce((sum, each) => sum + Number(each), 0);
  }

  /** Notes that a failover may have lost the last writes. */
  forgets(): void {
    this.#hasForgotten = true;
  }

  /** Waits until this many bytes more are copied: then no process stalls, since each file waits for all its receivers. */
  async movesOn(bytes: number): Promise<void> {
    const before = this.copiedBytes;
    await this.#until(`${bytes} bytes more`, () => this.hasEnded || this.copiedBytes >= before + bytes);
  }

  /** Lets all processes finish, and compares. With `withinMs`, compares then at the latest. */
  async verdict(withinMs = TIMEOUT_MS): Promise<Verdict> {
    this.of('copy')[0]!.order('hurry');
    await this.#until('all to be done', () => this.hasEnded, withinMs).catch((error: unknown) => {
      if (withinMs === TIMEOUT_MS) throw error;
    });
    // Living workers remove the marks of killed ones.
    await until(
      'marks to be forgotten',
      async () => !(await this.#leftovers()).some((key) => key.includes(':aggregates:')),
      FORGOTTEN_WITHIN_MS,
    ).catch(() => undefined);
    await Promise.all(this.of('count').map((worker) => worker.stop()));
    const logs = join(this.#root, 'logs');
    const copyOf = (name: string): Buffer | undefined => {
      try {
        return readFileSync(join(this.#root, 'copies', name));
      } catch {
        return undefined;
      }
    };
    return {
      miscounted: await this.#differences(logs),
      miscopied: readdirSync(logs).filter((name) => !copyOf(name)?.equals(readFileSync(join(logs, name)))),
      leftovers: await this.#leftovers(),
      unexplained: this.#notes.filter((note) => !this.#isExplained(note)),
    };
  }

  async #leftovers(): Promise<string[]> {
    return leftoversOf(this.redis, this.#prefix, this.#hasForgotten);
  }

  /** How often processes were refused, by error. */
  get refusals(): Record<string, number> {
    const met: Record<string, number> = {};
    for (const note of this.#notes) {
      const what = note.slice(note.indexOf(': ') + 2);
      met[what] = (met[what] ?? 0) + 1;
    }
    return met;
  }

  async dispose(): Promise<void> {
    await Promise.all(this.actors.map((actor) => actor.dispose()));
    this.redis.disconnect();
    rmSync(this.#root, { recursive: true, force: true });
  }

  /** A frozen process may find that its successor has finished the file. A new master may not know a file yet. */
  #isExplained(note: string): boolean {
    const unaware = this.actors.filter(({ freezes }) => this.#hasForgotten || freezes > 0);
    return (
      EXPLAINED.test(note) ||
      unaware.some(({ config }) => note === `${config.name}: ERR_FILE_EXPIRED`) ||
      (this.#hasForgotten && note.endsWith(': ERR_FILE_FORGOTTEN'))
    );
  }

  get #notes(): string[] {
    return readFileSync(join(this.#root, 'notes'), 'utf8')
      .split('\n')
      .filter((note) => note !== '');
  }

  async #until(what: string, isTrue: () => boolean, withinMs = TIMEOUT_MS): Promise<void> {
    await until(
      what,
      () => {
        const failed = this.actors.find(({ hasFailed }) => hasFailed);
        if (failed) throw new Error(`${failed.config.name} ended:\n${failed.output}`);
        return isTrue();
      },
      withinMs,
    ).catch(async (error: unknown) => {
      throw new Error(`${String(error)}\n${await describeStored(this.redis, this.#prefix)}`, {
        cause: error,
      });
    });
  }

  async #differences(logs: string): Promise<string[]> {
    const found: string[] = [];
    const expected = countOnce(logs);
    for (const [day, totals] of expected) {
      const keys = dayKeys(this.#prefix, day);
      const total = Number(await this.redis.get(keys.total));
      if (total !== totals.total) found.push(`${day}: ${total} lines for ${totals.total}`);
      for (const dimension of DIMENSIONS) {
        const flat = await this.redis.zrange(keys[dimension], '0', '-1', 'WITHSCORES');
        const counted = new Map<string, number>();
        for (let at = 0; at < flat.length; at += 2) counted.set(flat[at]!, Number(flat[at + 1]));
        for (const member of new Set([...counted.keys(), ...Object.keys(totals[dimension])])) {
          const [is, should] = [counted.get(member) ?? 0, totals[dimension][member] ?? 0];
          if (is !== should) found.push(`${day} ${member}: ${is} for ${should}`);
        }
      }
    }
    const days = await keysOf(this.redis, `${this.#prefix}:aggregates:*:total`);
    if (days.length !== expected.size) found.push(`${days.length} days for ${expected.size}`);
    return found.slice(0, MOST_DIFFERENCES);
  }
}
