import { setTimeout as pause } from 'node:timers/promises';
import type { Lease } from '@mortise/locks';
import type { Acquisition, Release, Section } from '../history/operation.js';
import { nowUs, toUs } from './clock.js';
import type { WorkerConfig } from './config.js';
import type { AcquireLock } from './lock-kinds.js';
import type { Recorder } from './recorder.js';
import type { Resource } from './resource.js';

/** The pause after an error: without it a server that is down would fill the records. */
const AFTER_ERROR_MS = 20;

interface Call {
  readonly key: string;
  readonly lease: string;
  readonly id: string;
  readonly calledAt: number;
}

/** Acquires, works and releases in rounds, and records each reply. */
export class Contender {
  readonly #name: string;
  readonly #config: WorkerConfig;
  readonly #locks: ReadonlyMap<string, AcquireLock>;
  readonly #resource: Resource;
  readonly #recorder: Recorder;
  #operations = 0;
  #leases = 0;

  constructor(
    name: string,
    config: WorkerConfig,
    locks: ReadonlyMap<string, AcquireLock>,
    resource: Resource,
    recorder: Recorder,
  ) {
    this.#name = name;
    this.#config = config;
    this.#locks = locks;
    this.#resource = resource;
    this.#recorder = recorder;
  }

  async turn(): Promise<void> {
    const { names, kind, permits: limit = 1, waitMs, impatientPart = 0 } = this.#config;
    const key = names[Math.floor(Math.random() * names.length)]!;
    const mode = kind === 'read-write' && Math.random() < 0.7 ? 'read' : 'write';
    const permits = kind === 'semaphore' ? 1 + Math.floor(Math.random() * Math.min(3, limit)) : 1;
    const isImpatient = Math.random() < impatientPart;
    const call = this.#call(key);
    const shape = { mode, permits, waitMs: isImpatient ? 1 + Math.random() * 20 : waitMs } as const;
    let lease: Lease;
    try {
      lease = await this.#locks.get(key)!(shape);
    } catch (error) {
      await this.#notAcquired({ op: 'acquire', ...call, ...shape }, error);
      return;
    }
    const { fencingToken, expiresAt } = lease;
    this.#recorder.returned({
      op: 'acquire',
      ...call,
      ...shape,
      returnedAt: nowUs(),
      outcome: 'acquired',
      fencingToken,
      validUntil: toUs(expiresAt),
    });
    await this.#work(call, lease, mode);
    await this.#release(call, lease);
  }

  async #notAcquired(call: Omit<Acquisition, 'returnedAt' | 'outcome'>, error: unknown): Promise<void> {
    const { code, message } = error as { code?: string; message: string };
    const outcome = code === 'ERR_LOCK_TIMEOUT' ? 'timeout' : 'failed';
    this.#recorder.returned({ ...call, returnedAt: nowUs(), outcome, error: message });
    if (outcome === 'failed') await pause(AFTER_ERROR_MS);
  }

  async #work({ key, lease: id }: Call, lease: Lease, mode: 'read' | 'write'): Promise<void> {
    const { kind, holdMs, leaseMs, overstayPart = 0 } = this.#config;
    const isOverstayed = Math.random() < overstayPart;
    const ms = isOverstayed ? leaseMs * (1 + Math.random()) : Math.random() * holdMs;
    if (kind === 'semaphore') {
      if (ms >= 1) await pause(ms);
      return;
    }
    const called = { op: 'section' as const, ...this.#call(key), lease: id };
    this.#recorder.called({ ...called, returnedAt: null, outcome: 'abandoned', isValid: true });
    const { outcome, value } = await (mode === 'write'
      ? this.#count(key, lease, ms)
      : this.#look(key, lease, ms));
    this.#recorder.returned({
      ...called,
      returnedAt: nowUs(),
      outcome,
      ...(value !== null && { value }),
      isValid: lease.isValid,
    });
  }

  /** Adds one to the counter, in two steps. */
  async #count(
    key: string,
    lease: Lease,
    ms: number,
  ): Promise<Pick<Section, 'outcome'> & { value: number | null }> {
    const before = await this.#resource.read(key, lease.fencingToken, true);
    if (before === null) return { outcome: 'refused', value: null };
    if (ms >= 1) await pause(ms);
    if (!lease.isValid) return { outcome: 'abandoned', value: before };
    const value = await this.#resource.write(key, lease.fencingToken, before + 1);
    return { outcome: value === null ? 'refused' : 'written', value };
  }

  /** Reads twice: no counter may change in between. */
  async #look(
    key: string,
    lease: Lease,
    ms: number,
  ): Promise<Pick<Section, 'outcome'> & { value: number | null }> {
    const before = await this.#resource.read(key, lease.fencingToken, false);
    if (ms >= 1) await pause(ms);
    const value = await this.#resource.read(key, lease.fencingToken, false);
    if (before === null || value === null) return { outcome: 'refused', value: null };
    return { outcome: before === value ? 'read' : 'torn', value };
  }

  async #release({ key, lease: id }: Call, lease: Lease): Promise<void> {
    // The watchdog may have moved the end. A later end does not count, because a released lease is not valid.
    const called: Omit<Release, 'returnedAt' | 'outcome'> = {
      op: 'release',
      ...this.#call(key),
      lease: id,
      validUntil: toUs(lease.expiresAt),
    };
    this.#recorder.called({ ...called, returnedAt: null, outcome: 'unknown' });
    this.#leases += 1;
    const isLast = this.#leases === this.#config.diesAtRelease;
    try {
      const release = lease.release();
      // The command is written to the socket when the promise callbacks of this tick have run.
      if (isLast) setImmediate(() => process.kill(process.pid, 'SIGKILL'));
      const outcome = (await release) ? 'released' : 'lost';
      this.#recorder.returned({ ...called, returnedAt: nowUs(), outcome });
    } catch (error) {
      const { message } = error as Error;
      this.#recorder.returned({ ...called, returnedAt: nowUs(), outcome: 'failed', error: message });
      await pause(AFTER_ERROR_MS);
    }
  }

  #call(key: string): Call {
    this.#operations += 1;
    const id = `${this.#name}/${this.#operations}`;
    return { id, key, lease: id, calledAt: nowUs() };
  }
}
