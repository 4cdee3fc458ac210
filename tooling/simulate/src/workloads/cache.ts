/**
 * Processes that read values through a cache, and change their source. A load takes the version that the source has at its start.
 * Some changes are deleted from the cache, and others only wait for the end of the value.
 */
import type * as Caches from '@mortise/cache';
import type { Plan } from '../plan.js';
import { FAULTS, LOSSES, SERVER_CLOCK } from '../plan.js';
import { Random } from '../random.js';
import type { Programs, Workload } from '../workload.js';
import type { VirtualProcess } from '../world/process.js';
import { Cluster } from '../world/cluster.js';
import type { World } from '../world/world.js';
import { Operations } from './queue-of-operations.js';

const LEASE_MS = 1_000;
/** Longer than the lease, which has to be renewed. */
const LONGEST_LOAD_MS = 1_500;
const SHORT_LOAD_MS = 200;
const LONG_PART = 0.05;
const LONGEST_PAUSE_MS = 2_000;
/** Of a read itself, in steps between its start and its end. */
const SLACK_MS = 500;
const KEYS = ['a', 'b'];
const TAG = 'all';
const READS = 4;
/** A near tier that lost a message learns of that from a counter: of two looks, a second each, the later one tells. */
const NEAR_LOOKS_MS = 4_000;
/** During this time after a fault, a process may do without Redis. */
const AFTERMATH_MS = 5_000;

export const cache: Workload = {
  name: 'cache',
  shape: {
    processes: [1, 3],
    operations: [6, 20],
    faults: [...FAULTS, ...SERVER_CLOCK, ...LOSSES],
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
  /** The version that the source had then. */
  readonly version: number;
}

interface Read {
  readonly by: string;
  readonly version: number | null;
  readonly beganAt: number;
  /** Whether the process had messages on their way to it then. */
  readonly isBehind: boolean;
}

/** The source of one key. */
interface Source {
  version: number;
  /** When each version was replaced, ms since the world began. */
  readonly replacedAt: number[];
  readonly reads: Read[];
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
  /** Whether processes keep values in their memory too, and learn of changes by messages. */
  readonly #hasNear: boolean;

  constructor(plan: Plan) {
    this.#operations = new Operations(plan);
    const random = new Random(plan.seed, 13);
    this.#ttlMs = random.pick([100, 1_000, 60_000]);
    this.#staleMs = random.pick([0, 0, 500]);
    this.#hasNear = random.isTrue(0.5);
    this.#hasFaults = plan.faults.some(({ kind }) => kind !== 'clock' && kind !== 'flush scripts');
    for (const key of KEYS)
      this.#sources.set(key, { version: 1, replacedAt: [0], reads: [], deletions: [], loads: [] });
  }

  start(process: VirtualProcess, number: number): void {
    const { Cache } = process.load<typeof Caches>('@mortise/cache');
    const connection = process.connect();
    const own = new Cache<number>(this.#hasNear ? new Cluster(connection) : connection, 'pages', {
      ...(this.#hasNear && { near: { entries: 100 } }),
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
    for (const [key, source] of this.#sources) {
      this.#checkReads(key, source, world);
      this.#checkLoads(key, source, world);
    }
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
    const deletions = changed.map(({ source, version }) => {
      const deletion = { calledAt: process.now(), returnedAt: Infinity, version };
      source.deletions.push(deletion);
      return deletion;
    });
    try {
      await (keys.length > 1 ? own.invalidateTag(TAG) : own.delete(key));
    } catch {
      // The change may or may not have reached the cache.
      return;
    }
    for (const deletion of deletions) deletion.returnedAt = process.now();
    process.note(`has deleted ${keys.join()}`);
  }

  async #read({ process, cache: own }: Program, key: string, chance: number): Promise<void> {
    const source = this.#sources.get(key)!;
    const beganAt = process.now();
    const isBehind = process.connections.some(({ wire }) => wire.replies.length > 0);
    let version: number | null;
    try {
      version = await own.getOrLoad(key, () => this.#load(process, source, beganAt, chance), { tags: [TAG] });
    } catch (error) {
      this.#violations.push(`a read fails: ${key} with ${String(error)}`);
      return;
    }
    process.note(`reads ${key}: ${version}`);
    source.reads.push({ by: process.name, version, beganAt, isBehind });
  }

  /** A failover may take back the deletions of its last moments. */
  #checkReads(key: string, { reads, deletions, replacedAt }: Source, world: World): void {
    const { server } = world;
    const kept = deletions.filter(
      ({ calledAt, returnedAt }) =>
        !server.losses.some(({ from, to }) => returnedAt >= from && calledAt <= to),
    );
    for (const read of reads) {
      const { by, version, beganAt } = read;
      const knownBy = beganAt - this.#lagOf(read, world);
      const before = kept.filter(({ returnedAt }) => returnedAt <= knownBy);
      const least = Math.max(0, ...before.map((deletion) => deletion.version));
      if (version === null || version < least)
        this.#violations.push(`old value: ${by} got ${version} of ${key} after ${least}`);
      const age = beganAt - (replacedAt[version ?? 0] ?? Infinity);
      if (age > this.#mostAge && server.skews.length === 0)
        this.#violations.push(
          `freshness: ${by} got ${version} of ${key}, ${age.toFixed(0)} ms after its end`,
        );
    }
  }

  /** How much later than a deletion a near tier may drop its value: only if the message is late, or a fault has lost it. */
  #lagOf({ by, beganAt, isBehind }: Read, { suffered }: World): number {
    if (!this.#hasNear) return 0;
    const hasFault = suffered.some(
      ({ at, kind, process = by }) =>
        kind !== 'clock' && process === by && at <= beganAt && at >= beganAt - AFTERMATH_MS - NEAR_LOOKS_MS,
    );
    if (hasFault) return NEAR_LOOKS_MS + 2 * LONGEST_PAUSE_MS;
    return isBehind ? NEAR_LOOKS_MS : 0;
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
    await process.pause(chance < LONG_PART ? LONGEST_LOAD_MS : SHORT_LOAD_MS ** chance);
    load.endedAt = process.now();
    return version;
  }

  /** A load begins beside another one only after a deletion, or after a fault of the server or of one of the two processes. */
  #checkLoads(key: string, { loads, deletions }: Source, { suffered }: World): void {
    const faults = suffered.filter(({ kind }) => kind !== 'clock' && kind !== 'flush scripts');
    for (const [index, load] of loads.entries()) {
      for (const before of loads.slice(0, index)) {
        const isExcused = deletions.some(
          ({ calledAt, returnedAt }) => returnedAt >= before.askedAt && calledAt <= load.beganAt,
        );
        const hasFault = faults.some(
          ({ at, process = load.by }) =>
            (process === load.by || process === before.by) &&
            at >= before.askedAt - AFTERMATH_MS &&
            at <= load.beganAt,
        );
        if (before.endedAt > load.beganAt && !isExcused && !hasFault)
          this.#violations.push(
            `one load: ${load.by} loads ${key} at ${load.beganAt.toFixed(1)}, and ${before.by} since ${before.beganAt.toFixed(1)}`,
          );
      }
    }
  }
}
