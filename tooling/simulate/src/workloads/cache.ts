/**
 * Processes that read values through a cache, and change their source. A load takes the version that the source has at its start.
 * Some changes are deleted from the cache, and others only wait for the end of the value.
 */
import type * as Caches from '@mortise/cache';
import type { Plan } from '../plan.js';
import { Random } from '../random.js';
import type { Programs, Workload } from '../workload.js';
import type { VirtualProcess } from '../world/process.js';
import type { World } from '../world/world.js';
import { Operations } from './queue-of-operations.js';

const LEASE_MS = 1_000;
const LONGEST_LOAD_MS = 200;
const LONGEST_PAUSE_MS = 2_000;
/** Of a read itself, in steps between its start and its end. */
const SLACK_MS = 500;
const KEYS = ['a', 'b'];
const TAG = 'all';
const READS = 4;

export const cache: Workload = {
  name: 'cache',
  shape: {
    processes: [1, 3],
    operations: [6, 20],
    faults: ['cut', 'crash', 'pause', 'clock', 'stall', 'flush scripts'],
    mostFaults: 5,
    steps: 130,
    longestMs: LONGEST_PAUSE_MS,
  },
  begin: (plan) => new CachePrograms(plan),
};

interface Load {
  /** When its read began: the lease is granted between this and the beginning of the load. */
  readonly askedAt: number;
  readonly beganAt: number;
  endedAt: number;
  readonly by: string;
}

interface Deletion {
  readonly calledAt: number;
  returnedAt: number;
}

/** The source of one key. */
interface Source {
  version: number;
  /** When each version was replaced, ms since the world began. */
  readonly replacedAt: number[];
  /** The version that every later read has to see, or a newer one. */
  deletedUpTo: number;
  /** Each allows another load, whenever the server executes it. */
  readonly deletions: Deletion[];
  readonly loads: Load[];
}

interface Program {
  readonly process: VirtualProcess;
  readonly cache: Caches.Cache<number>;
}

class CachePrograms implements Programs {
  readonly #operations: Operations;
  readonly #sources = new Map<string, Source>();
  readonly #violations: string[] = [];
  readonly #working = new Set<VirtualProcess>();
  readonly #ttlMs: number;
  readonly #staleMs: number;
  readonly #hasFaults: boolean;

  constructor(plan: Plan) {
    this.#operations = new Operations(plan);
    const random = new Random(plan.seed, 13);
    this.#ttlMs = random.pick([100, 1_000, 60_000]);
    this.#staleMs = random.pick([0, 0, 500]);
    this.#hasFaults = plan.faults.some(({ kind }) => kind !== 'clock' && kind !== 'flush scripts');
    for (const key of KEYS)
      this.#sources.set(key, { version: 1, replacedAt: [0], deletedUpTo: 0, deletions: [], loads: [] });
  }

  start(process: VirtualProcess, number: number): void {
    const { Cache } = process.load<typeof Caches>('@mortise/cache');
    const own = new Cache<number>(process.connect(), 'pages', {
      ttlMs: this.#ttlMs,
      staleMs: this.#staleMs,
      leaseMs: LEASE_MS,
      // A value that a process keeps while Redis is away may be older than a change.
      fallbackTtlMs: 0,
      onError: () => undefined,
    });
    void this.#run({ process, cache: own }, number);
  }

  isDone(): boolean {
    for (const process of this.#working) if (!process.isDead) return false;
    return this.#operations.isEmpty;
  }

  check(world: World): readonly string[] {
    if (!this.#hasFaults) for (const [key, source] of this.#sources) this.#checkLoads(key, source);
    world.record(`${this.#violations.length} violations`);
    return this.#violations;
  }

  async #run(program: Program, number: number): Promise<void> {
    this.#working.add(program.process);
    for (let one = this.#operations.next(number); one; one = this.#operations.next(number))
      await this.#operate(program, new Random(one.seed));
    this.#working.delete(program.process);
  }

  async #operate(program: Program, random: Random): Promise<void> {
    await program.process.pause(random.below(random.isTrue(0.2) ? 1_500 : 40));
    const key = random.pick(KEYS);
    if (random.isTrue(0.3)) await this.#change(program, key, random);
    else
      await Promise.all(
        Array.from({ length: 1 + random.below(READS) }, () => this.#read(program, key, random.next())),
      );
  }

  async #change({ process, cache: own }: Program, key: string, random: Random): Promise<void> {
    const keys = random.isTrue(0.3) ? KEYS : [key];
    const changed = keys.map((one) => {
      const source = this.#sources.get(one)!;
      source.replacedAt[source.version] = process.now();
      source.version += 1;
      return { source, version: source.version };
    });
    process.note(`changes ${keys.join()} to ${changed.map(({ version }) => version).join()}`);
    if (random.isTrue(0.3)) return;
    const deletion = { calledAt: process.now(), returnedAt: Infinity };
    for (const { source } of changed) source.deletions.push(deletion);
    try {
      await (keys.length > 1 ? own.invalidateTag(TAG) : own.delete(key));
    } catch {
      // The change may or may not have reached the cache.
      return;
    }
    deletion.returnedAt = process.now();
    process.note(`has deleted ${keys.join()}`);
    for (const { source, version } of changed) source.deletedUpTo = Math.max(source.deletedUpTo, version);
  }

  async #read({ process, cache: own }: Program, key: string, chance: number): Promise<void> {
    const source = this.#sources.get(key)!;
    const { deletedUpTo } = source;
    const beganAt = process.now();
    let version: number | null;
    try {
      version = await own.getOrLoad(key, () => this.#load(process, source, beganAt, chance), { tags: [TAG] });
    } catch (error) {
      this.#violations.push(`a read fails: ${key} with ${String(error)}`);
      return;
    }
    process.note(`reads ${key}: ${version}`);
    if (version === null || version < deletedUpTo)
      this.#violations.push(`old value: ${process.name} got ${version} of ${key} after ${deletedUpTo}`);
    const age = beganAt - (source.replacedAt[version ?? 0] ?? Infinity);
    if (age > this.#mostAge)
      this.#violations.push(
        `freshness: ${process.name} got ${version} of ${key}, ${age.toFixed(0)} ms after its end`,
      );
  }

  /** How long after its replacement a version may still be read. */
  get #mostAge(): number {
    const lifeMs = this.#ttlMs + this.#staleMs + LONGEST_LOAD_MS + SLACK_MS;
    return this.#hasFaults ? lifeMs + 2 * LONGEST_PAUSE_MS : lifeMs;
  }

  async #load(process: VirtualProcess, source: Source, askedAt: number, chance: number): Promise<number> {
    const { version, loads } = source;
    const load = { askedAt, beganAt: process.now(), endedAt: Infinity, by: process.name };
    loads.push(load);
    process.note(`loads version ${version}`);
    await process.pause(LONGEST_LOAD_MS ** chance);
    load.endedAt = process.now();
    return version;
  }

  /** A load begins beside another one only after a deletion. */
  #checkLoads(key: string, { loads, deletions }: Source): void {
    for (const [index, load] of loads.entries()) {
      for (const before of loads.slice(0, index)) {
        const isExcused = deletions.some(
          ({ calledAt, returnedAt }) => returnedAt >= before.askedAt && calledAt <= load.beganAt,
        );
        if (before.endedAt > load.beganAt && !isExcused)
          this.#violations.push(
            `one load: ${load.by} loads ${key} at ${load.beganAt.toFixed(1)}, and ${before.by} since ${before.beganAt.toFixed(1)}`,
          );
      }
    }
  }
}
