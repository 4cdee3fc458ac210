/** Processes that take turns with one lock: a Mutex, a Semaphore or a ReadWriteLock. The checker is that of the fault tests. */
import { check } from '@mortise/faults/history/check.js';
import type { Model } from '@mortise/faults/history/model.js';
import { mutexModel } from '@mortise/faults/history/mutex-model.js';
import type { Acquisition, Operation as Record, Section } from '@mortise/faults/history/operation.js';
import { readWriteModel } from '@mortise/faults/history/read-write-model.js';
import { semaphoreModel } from '@mortise/faults/history/semaphore-model.js';
import type * as Locks from '@mortise/locks';
import type { Plan } from '../plan.js';
import { FAULTS, LOSSES, SERVER_CLOCK } from '../plan.js';
import { Random } from '../random.js';
import type { Programs, Workload } from '../workload.js';
import type { VirtualProcess } from '../world/process.js';
import type { World } from '../world/world.js';
import { Operations } from './queue-of-operations.js';

type Kind = 'mutex' | 'semaphore' | 'read-write';

interface Terms {
  readonly mode: 'read' | 'write';
  readonly permits: number;
  readonly waitMs: number;
}

type Acquire = (terms: Terms) => Promise<Locks.Lease>;

const KEY = 'lock';
const PERMITS = 3;
const WAIT_MS = 120_000;
const SHORT_WAIT_MS = 40;
const LONGEST_HOLD_MS = 150;

export const locks: Workload = {
  name: 'locks',
  shape: {
    processes: [2, 4],
    operations: [4, 14],
    faults: [...FAULTS, ...SERVER_CLOCK, ...LOSSES],
    mostFaults: 6,
    steps: 500,
    longestMs: 1_500,
  },
  begin: (plan) => new LockPrograms(plan),
};

/** Settings that all processes of a run share. */
class Setting {
  readonly kind: Kind;
  readonly leaseMs: number;
  readonly renew: boolean;
  readonly fair: boolean;

  constructor({ seed }: Plan) {
    const random = new Random(seed, 10);
    this.kind = random.pick(['mutex', 'mutex', 'semaphore', 'read-write'] as const);
    this.leaseMs = random.pick([50, 200, 1_000]);
    this.renew = random.isTrue(0.7);
    this.fair = random.isTrue(0.8);
  }

  get model(): Model<unknown> {
    if (this.kind === 'mutex') return mutexModel;
    return this.kind === 'semaphore' ? semaphoreModel(PERMITS) : readWriteModel;
  }

  lock(process: VirtualProcess): Acquire {
    const { Mutex, ReadWriteLock, Semaphore } = process.load<typeof Locks>('@mortise/locks');
    const { leaseMs, renew, fair } = this;
    const redis = process.connect();
    if (this.kind === 'mutex') {
      const mutex = new Mutex(redis, KEY, { leaseMs, renew, fair });
      return ({ waitMs }) => mutex.acquire({ waitMs });
    }
    if (this.kind === 'semaphore') {
      const semaphore = new Semaphore(redis, KEY, { leaseMs, renew, permits: PERMITS });
      return ({ permits, waitMs }) => semaphore.acquire({ permits, waitMs });
    }
    const lock = new ReadWriteLock(redis, KEY, { leaseMs, renew });
    return ({ mode, waitMs }) => lock[mode].acquire({ waitMs });
  }
}

class LockPrograms implements Programs {
  readonly #operations: Operations;
  readonly #setting: Setting;
  readonly #records = new Map<string, Record>();
  readonly #running = new Map<VirtualProcess, string>();
  readonly #resource = new Resource();
  #ids = 0;
  #now: () => number = () => 0;

  constructor(plan: Plan) {
    this.#operations = new Operations(plan);
    this.#setting = new Setting(plan);
  }

  start(process: VirtualProcess, number: number): void {
    const acquire = this.#setting.lock(process);
    this.#now = () => Math.floor(process.now() * 1_000);
    void this.#program(process, number, acquire);
  }

  isDone(): boolean {
    for (const process of this.#running.keys()) if (!process.isDead) return false;
    return this.#operations.isEmpty;
  }

  check(world: World): readonly string[] {
    // A lease may end early, or be forgotten. Only tokens exclude its holder then.
    const losses = [...world.server.losses, ...world.server.skews].map(({ from, to }) => {
      return { from: Math.floor(from * 1_000), to: Math.ceil(to * 1_000) };
    });
    const history = { operations: [...this.#records.values()], losses, hasRepeats: true };
    return check(history, this.#setting.model, { killedClients: new Set(world.killed.keys()) }).map(
      ({ rule, message }) => `${rule}: ${message}`,
    );
  }

  async #program(process: VirtualProcess, number: number, acquire: Acquire): Promise<void> {
    this.#running.set(process, 'runs');
    for (let one = this.#operations.next(number); one; one = this.#operations.next(number))
      await this.#turn(process, new Random(one.seed), acquire);
    this.#running.delete(process);
  }

  async #turn(process: VirtualProcess, random: Random, acquire: Acquire): Promise<void> {
    await process.pause(random.below(20));
    const { kind, leaseMs } = this.#setting;
    const mode = kind === 'read-write' && random.isTrue(0.6) ? 'read' : 'write';
    const permits = kind === 'semaphore' ? 1 + random.below(PERMITS) : 1;
    const waitMs = random.isTrue(0.2) ? 1 + random.below(SHORT_WAIT_MS) : WAIT_MS;
    const overstays = random.isTrue(0.15);
    const holdMs = overstays ? leaseMs * random.between(0.8, 1.5) : LONGEST_HOLD_MS ** random.next();
    const call = this.#call(process);
    this.#note({ op: 'acquire', ...call, mode, permits, waitMs, returnedAt: null, outcome: 'failed' });
    let lease: Locks.Lease;
    try {
      lease = await acquire({ mode, permits, waitMs });
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      const outcome = code === 'ERR_LOCK_TIMEOUT' ? 'timeout' : 'failed';
      this.#note({
        ...(this.#records.get(call.id) as Acquisition),
        returnedAt: this.#now(),
        outcome,
        error: message,
      });
      return;
    }
    this.#note({
      ...(this.#records.get(call.id) as Acquisition),
      returnedAt: this.#now(),
      outcome: 'acquired',
      ...(this.#hasTokens && { fencingToken: lease.fencingToken }),
      validUntil: endOf(process, lease),
    });
    await this.#use(process, call.lease, lease, mode, holdMs);
    await this.#release(process, call.lease, lease);
  }

  /** A Semaphore gives its tokens in no order. */
  get #hasTokens(): boolean {
    return this.#setting.kind !== 'semaphore';
  }

  async #use(
    process: VirtualProcess,
    id: string,
    lease: Locks.Lease,
    mode: 'read' | 'write',
    holdMs: number,
  ): Promise<void> {
    if (!this.#hasTokens) {
      await process.pause(holdMs);
      return;
    }
    const call = { ...this.#call(process), lease: id };
    this.#note({ op: 'section', ...call, returnedAt: null, outcome: 'abandoned', isValid: true });
    const before = this.#resource.read(lease.fencingToken, mode);
    await process.pause(holdMs);
    const outcome = this.#finish(lease, mode, before);
    this.#note({ op: 'section', ...call, ...outcome, returnedAt: this.#now(), isValid: lease.isValid });
  }

  #finish(
    lease: Locks.Lease,
    mode: 'read' | 'write',
    before: number | undefined,
  ): Pick<Section, 'outcome' | 'value'> {
    if (before === undefined) return { outcome: 'refused' };
    if (mode === 'read') {
      const value = this.#resource.read(lease.fencingToken, mode);
      if (value === undefined) return { outcome: 'refused' };
      return { outcome: value === before ? 'read' : 'torn', value };
    }
    if (!lease.isValid) return { outcome: 'abandoned' };
    const isWritten = this.#resource.write(lease.fencingToken, before + 1);
    return isWritten ? { outcome: 'written', value: before + 1 } : { outcome: 'refused' };
  }

  async #release(process: VirtualProcess, id: string, lease: Locks.Lease): Promise<void> {
    const call = { ...this.#call(process), lease: id, validUntil: endOf(process, lease) };
    this.#note({ op: 'release', ...call, returnedAt: null, outcome: 'unknown' });
    try {
      const outcome = (await lease.release()) ? 'released' : 'lost';
      this.#note({ op: 'release', ...call, returnedAt: this.#now(), outcome });
    } catch (error) {
      this.#note({
        op: 'release',
        ...call,
        returnedAt: this.#now(),
        outcome: 'failed',
        error: String(error),
      });
    }
  }

  #call(process: VirtualProcess): { id: string; key: string; lease: string; calledAt: number } {
    this.#ids += 1;
    const id = `${process.name}/${this.#ids}`;
    return { id, key: KEY, lease: id, calledAt: this.#now() };
  }

  #note(record: Record): void {
    this.#records.set(record.id, record);
  }
}

/** The end of a lease as its holder knows it, µs since the world began. */
function endOf(process: VirtualProcess, lease: Locks.Lease): number {
  return Math.floor(process.sinceBegin(lease.expiresAt) * 1_000);
}

/** A counter that refuses smaller tokens: a writer's than anybody's, a reader's than a writer's. */
class Resource {
  #value = 0;
  #writer = 0;
  #reader = 0;

  read(token: number, mode: 'read' | 'write'): number | undefined {
    if (token < this.#writer || (mode === 'write' && token < this.#reader)) return undefined;
    if (mode === 'write') this.#writer = token;
    else this.#reader = Math.max(this.#reader, token);
    return this.#value;
  }

  write(token: number, value: number): boolean {
    if (token < this.#writer || token < this.#reader) return false;
    this.#writer = token;
    this.#value = value;
    return true;
  }
}
