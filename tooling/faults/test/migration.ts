/** Moves a queue of BullMQ or bee-queue while its producer and workers of both libraries run, and while all of them are killed. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Queue } from '@mortise/queues';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { Queue as BullQueue } from 'bullmq';

const QUEUE = 'mail';
const PROGRAM = join(import.meta.dirname, 'migration-process.mjs');
const CLI = join(import.meta.dirname, '../../../packages/queues/dist/cli/main.js');
/** Killed in turns. */
const ROLES = ['migrator', 'old', 'mortise', 'migrator', 'producer'] as const;
/** The programs of these roles, and the options of the migrator. */
const LIBRARIES = {
  bullmq: { old: 'bull', producer: 'producer', from: ['--from-bullmq', QUEUE] },
  'bee-queue': { old: 'bee', producer: 'beeProducer', from: ['--from-bee-queue', QUEUE, '--name', 't'] },
} as const;
/** Kills come while jobs run: the last ones are left for the end. */
const SPARE_KILLS = 10;
const LIMIT_MS = 400_000;
const NOTHING_TO_MOVE_MS = 2_000;

type Role = (typeof ROLES)[number];
type Library = keyof typeof LIBRARIES;

export interface Findings {
  /** Accepted jobs that no worker has run to its end. */
  readonly lost: readonly string[];
  /** Jobs that ran again though no worker that had them was killed. */
  readonly repeated: readonly string[];
  /** Jobs that ran again since their worker was killed. */
  readonly explained: number;
  readonly accepted: number;
  readonly kills: number;
  /** Ends, by the library of the worker. */
  readonly ends: Readonly<Record<'old' | 'mortise', number>>;
  /** Jobs and tasks that have not ended. */
  readonly remaining: number;
}

export async function migrateUnderKills(library: Library, jobs: number, kills: number): Promise<Findings> {
  await using run = new Run(library, jobs);
  const findings = await run.findings(kills);
  return findings;
}

class Run implements AsyncDisposable {
  readonly #redis = connect();
  readonly #url = process.env['MORTISE_TEST_REDIS']!;
  readonly #prefix = freshPrefix();
  readonly #oldPrefix = `{${this.#prefix}}`;
  readonly #children = new Map<Role, ChildProcess>();
  readonly #killed = new Set<number>();
  readonly #library: Library;
  readonly #jobs: number;
  #isOver = false;
  #kills = 0;

  constructor(library: Library, jobs: number) {
    this.#library = library;
    this.#jobs = jobs;
  }

  async findings(kills: number): Promise<Findings> {
    for (const role of new Set(ROLES)) this.#start(role);
    for (let n = 0; this.#kills < kills; n += 1) {
      const role = ROLES[n % ROLES.length]!;
      await this.#untilShare((n + 1) / (kills + SPARE_KILLS));
      // Between two of its steps.
      if (role === 'migrator') await this.#untilTaken();
      await this.#kill(role);
    }
    await until('the producer', () => this.#hasProduced(), LIMIT_MS);
    // Workers of BullMQ run the remaining jobs, or the migrator moves them.
    await until('the end of all jobs', async () => (await this.#remaining()) === 0, LIMIT_MS);
    this.#isOver = true;
    return this.#account();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await Promise.all([...this.#children.keys()].map((role) => this.#end(role)));
    const keys = await this.#redis.keys(`${this.#oldPrefix}:*`);
    if (keys.length > 0) await this.#redis.del(...keys);
  }

  async #bullJobs(): Promise<number> {
    const connection = { url: this.#url, maxRetriesPerRequest: null };
    const bull = new BullQueue(QUEUE, { connection, prefix: this.#oldPrefix });
    const { completed: _completed, ...open } = await bull.getJobCounts();
    await bull.close();
    return sum(open);
  }

  async #beeJobs(): Promise<number> {
    const base = `${this.#oldPrefix}:${QUEUE}:`;
    const [waiting, active, delayed] = await Promise.all([
      this.#redis.llen(`${base}waiting`),
      this.#redis.llen(`${base}active`),
      this.#redis.zcard(`${base}delayed`),
    ]);
    return waiting + active + delayed;
  }

  /** A migrator, or another process that has ended, is started again. */
  #start(role: Role): void {
    const { from, ...programs } = LIBRARIES[this.#library];
    const given = {
      role: role === 'old' || role === 'producer' ? programs[role] : role,
      url: this.#url,
      prefix: this.#prefix,
      oldPrefix: this.#oldPrefix,
      queue: QUEUE,
      jobs: this.#jobs,
    };
    const args =
      role === 'migrator'
        ? [CLI, 'migrate', QUEUE, ...from, '--from-prefix', this.#oldPrefix, '--prefix', this.#prefix]
        : [PROGRAM, JSON.stringify(given)];
    const env = { ...process.env, NODE_OPTIONS: '', REDIS_URL: this.#url };
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
    this.#children.set(role, child);
    child.once('exit', (code) => {
      const hasEnded = this.#isOver || (role === 'producer' && code === 0);
      if (!hasEnded && this.#children.get(role) === child) this.#start(role);
    });
  }

  async #kill(role: Role): Promise<void> {
    const child = this.#children.get(role)!;
    if (child.exitCode !== null) return;
    this.#killed.add(child.pid!);
    const exit = once(child, 'exit');
    if (child.kill('SIGKILL')) this.#kills += 1;
    await exit;
  }

  async #end(role: Role): Promise<void> {
    const child = this.#children.get(role)!;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  }

  /** Resolves when workers have begun this share of the jobs. */
  async #untilShare(share: number): Promise<void> {
    const lines = async (): Promise<number> => this.#redis.llen(`${this.#prefix}:log`);
    await until('the workers', async () => (await lines()) > 2 * this.#jobs * share, LIMIT_MS);
  }

  /** Resolves when jobs are on their way, or when there seem to be none to move. */
  async #untilTaken(): Promise<void> {
    const endsAt = performance.now() + NOTHING_TO_MOVE_MS;
    const isTaken = async (): Promise<boolean> => (await this.#onTheWay()) > 0 || performance.now() > endsAt;
    await until('jobs on their way', isTaken, LIMIT_MS);
  }

  #onTheWay(): Promise<number> {
    return this.#redis.hlen(`${this.#oldPrefix}:${QUEUE}:mortise:moved`);
  }

  async #hasProduced(): Promise<boolean> {
    return Number(await this.#redis.get(`${this.#prefix}:reserved`)) > this.#jobs;
  }

  async #remaining(): Promise<number> {
    const old = this.#library === 'bullmq' ? await this.#bullJobs() : await this.#beeJobs();
    const counts = await new Queue(this.#redis, QUEUE, { prefix: this.#prefix }).counts();
    const { succeeded: _succeeded, ...waiting } = counts;
    return old + (await this.#onTheWay()) + sum(waiting);
  }

  async #account(): Promise<Findings> {
    const lines = await this.#redis.lrange(`${this.#prefix}:log`, 0, -1);
    const begins = new Map<string, number[]>();
    const ended = new Set<string>();
    const ends = { old: 0, mortise: 0 };
    for (const line of lines) {
      const [what, id, pid, role] = line.split(' ') as [string, string, string, string];
      if (what === 'begin') begins.set(id, [...(begins.get(id) ?? []), Number(pid)]);
      else {
        ended.add(id);
        ends[role === 'mortise' ? role : 'old'] += 1;
      }
    }
    const accepted = await this.#redis.smembers(`${this.#prefix}:accepted`);
    const again = [...begins].filter(([, pids]) => pids.length > 1);
    const isExplained = (pids: readonly number[]): boolean =>
      pids.slice(0, -1).every((pid) => this.#killed.has(pid));
    return {
      lost: accepted.filter((id) => !ended.has(id)),
      repeated: again
        .filter(([, pids]) => !isExplained(pids))
        .map(([id, pids]) => `${id}: ${pids.join(', ')}`),
      explained: again.filter(([, pids]) => isExplained(pids)).length,
      accepted: accepted.length,
      kills: this.#kills,
      ends,
      remaining: await this.#remaining(),
    };
  }
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((all, count) => all + count, 0);
}
