/**
 * Runs all workloads at once on a Cluster or under Sentinel, each in processes of its own. Injects a fault every so many seconds. Clients
 * reach each server through a proxy.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../until.js';
import { Links } from '../links/links.js';
import { nowUs } from '../locks/clock.js';
import type { RedisAddress } from '../locks/config.js';
import { Conductor } from './conductor.js';
import type { Deployment, DrawnFault } from './draw.js';
import { drawFaults } from './draw.js';
import { ignoreSizeSignal } from './full-disk.js';
import type { Group } from './group.js';
import { startGroup } from './group.js';
import type { Hit } from './injector.js';
import { Injector, isOfServers } from './injector.js';
import type { Sample } from './memory.js';
import { MemoryReader } from './memory.js';
import type { LeftKeys, Order } from './protocol.js';
import type { FaultEvent, HourReport, ProcessReport, WorkloadReport } from './report.js';
import type { PastFault, Veteran, WorkloadName } from './workload.js';
import { WORKLOADS } from './workloads/index.js';

export interface HourOptions {
  readonly on: Deployment;
  readonly seed: number;
  readonly minutes: number;
  /** From the start of a fault to the start of the next one, s. Default: 20. */
  readonly everySeconds?: number;
  /** Default: all. */
  readonly workloads?: readonly WorkloadName[];
  readonly onProgress?: (line: string) => void;
}

/** A workload that makes no progress for this time fails the run, ms. */
const STALLED_MS = 120_000;
/** The shortest time from the end of a fault to the start of the next one. */
const REST_MS = 4_000;
const STOPPED_MS = 3_000;
const START_MS = 240_000;
const CONNECTIONS_MS = 20_000;
/** Redis may lose writes that a master accepted in this time before the fault. */
const LAG_US = 500_000;
/** With `everysec`, a write may wait for two seconds in memory, before Redis writes it to the file. */
const FSYNC_LAG_US = 2_000_000;
const EMPTY: LeftKeys = { expiring: 0, leaked: [] };

export class Hour {
  readonly #options: Required<HourOptions>;
  readonly #directory = mkdtempSync(join(tmpdir(), 'mortise-hour-'));
  readonly #memory = new MemoryReader();
  readonly #events: FaultEvent[] = [];
  readonly #failures: string[] = [];
  #group!: Group;
  #links!: Links;
  #injector!: Injector;
  #conductors: Conductor[] = [];
  #startedAt = 0;
  /** The masters after the last fault. */
  #masters = '';
  /** When that fault was over, µs. */
  #settledAt = 0;

  constructor(options: HourOptions) {
    const workloads = Object.keys(WORKLOADS) as WorkloadName[];
    this.#options = { everySeconds: 20, workloads, onProgress: () => undefined, ...options };
  }

  async run(): Promise<HourReport> {
    await this.#start();
    const { minutes, seed, on, everySeconds } = this.#options;
    const seconds = 60 * minutes;
    const faults = drawFaults(seed, on, Math.ceil(seconds / everySeconds));
    await this.#reaches(seconds / 10);
    const processes = await this.#processes();
    const early = await this.#sample(processes);
    for (const fault of faults) {
      if (this.#seconds + everySeconds / 2 > seconds || this.#failures.length > 0) break;
      await this.#inject(fault);
      this.#lookForStalls();
      await pause(REST_MS);
      await this.#reaches(Math.min(seconds, Math.ceil(this.#seconds / everySeconds) * everySeconds));
    }
    this.#lookForStalls();
    const late = await this.#sample(processes);
    const took = this.#seconds;
    const workloads = await this.#finish();
    return {
      seed,
      on,
      seconds: took,
      faults: this.#events,
      workloads,
      processes: processes.map((process, index): ProcessReport => ({
        name: process.name,
        keepsEvidence: process.keepsEvidence,
        early: early.samples[index],
        late: late.samples[index],
      })),
      connections: { early: early.connections, late: late.connections, left: await this.#leftConnections() },
      failures: this.#failures,
    };
  }

  async dispose(): Promise<void> {
    await Promise.all(this.#conductors.map((conductor) => conductor.kill()));
    await this.#links?.stop();
    await this.#group?.stop();
    this.#memory.dispose();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  get #seconds(): number {
    return (performance.now() - this.#startedAt) / 1_000;
  }

  async #start(): Promise<void> {
    const { on, workloads, onProgress } = this.#options;
    await ignoreSizeSignal(this.#directory);
    this.#group = await startGroup(on);
    Object.assign(process.env, this.#memory.environment);
    const ports = this.#group.servers.map(({ port }) => port);
    this.#links = await Links.start(ports, this.#directory);
    this.#injector = new Injector(this.#group, (order) => this.#links.order(order));
    const redis = this.#group.addressBy(this.#links.natMap);
    // One after the other: if all started at once, a busy machine would keep its servers waiting.
    for (const workload of workloads) await this.#conduct(workload, redis);
    this.#startedAt = performance.now();
    for (const conductor of this.#conductors) conductor.movedAt = this.#startedAt;
    await this.#noteMasters();
    onProgress(`all workloads run on ${on}`);
  }

  async #conduct(workload: WorkloadName, redis: RedisAddress): Promise<void> {
    const prefix = `hour${process.pid}-${workload}`;
    const place = { redis, prefix, seconds: 60 * this.#options.minutes };
    const conductor = new Conductor({ workload, place });
    this.#conductors.push(conductor);
    await until(`${workload} to start`, () => conductor.hasStarted(), START_MS);
    this.#options.onProgress(`${workload} runs`);
  }

  async #reaches(seconds: number): Promise<void> {
    await pause(Math.max(0, (seconds - this.#seconds) * 1_000));
  }

  async #inject(fault: DrawnFault): Promise<void> {
    await this.#lookForFailover();
    const at = this.#seconds;
    const from = nowUs();
    const isOfProcess = !isOfServers(fault);
    try {
      if (!isOfProcess) await this.#tell({ do: 'begins' });
      const hit = isOfProcess
        ? await this.#strike(fault)
        : await this.#injector.inject(fault.name, fault.random);
      const isUnasked = !hit.mayForget && fault.name !== 'failover' && (await this.#haveMastersChanged());
      await this.#noted(
        isUnasked ? { ...hit, where: `${hit.where}, and a failover`, mayForget: true } : hit,
        {
          name: fault.name,
          at,
          from,
          // The workload knows of it, and it excuses nothing in the others.
          isOfProcess,
        },
      );
    } catch (error) {
      this.#failures.push(`${fault.name}: ${(error as Error).stack}`);
    }
  }

  async #strike({ name, random }: DrawnFault): Promise<Hit> {
    // The conductor of the cache runs its clients, and must not die.
    const struck = this.#conductors.filter((conductor) => conductor.name !== 'cache');
    const conductor = struck[Math.floor(random * struck.length)]!;
    const how = name === 'a process is killed' ? 'kill' : 'stop';
    await conductor.ask({ do: 'strike', how, ms: STOPPED_MS });
    return { where: conductor.name };
  }

  async #tell(order: Order): Promise<void> {
    const running = this.#conductors.filter(({ isRunning }) => isRunning);
    await Promise.all(running.map((one) => one.ask(order)));
  }

  /** Tells all workloads of a fault that is over. */
  async #noted(
    hit: Hit,
    {
      name,
      at,
      from,
      isOfProcess = false,
    }: { name: string; at: number; from: number; isOfProcess?: boolean },
  ): Promise<void> {
    const { mayForget = false, isFlush = false, where, skipped } = hit;
    const lag = name === 'a master restarts at once' ? FSYNC_LAG_US : LAG_US;
    const past: PastFault = { from: from - (mayForget ? lag : 0), to: nowUs(), mayForget, isFlush };
    if (!isOfProcess || mayForget) await this.#tell({ do: 'noted', fault: past });
    await this.#noteMasters();
    const event: FaultEvent = {
      name,
      where,
      at,
      seconds: (past.to - from) / 1_000_000,
      excusedSeconds: mayForget ? (past.to - past.from) / 1_000_000 : 0,
      ...(skipped !== undefined && { skipped }),
    };
    this.#events.push(event);
    this.#options.onProgress(`${at.toFixed(0)} s: ${name}, ${where}, ${event.seconds.toFixed(1)} s`);
  }

  /** Looks for a failover that the run didn't start: on a busy machine, a master may seem dead. */
  async #lookForFailover(): Promise<void> {
    if (!(await this.#haveMastersChanged())) return;
    await this.#injector.settled();
    const where = `by ${await this.#mastersNow()}`;
    await this.#noted(
      { where, mayForget: true },
      { name: 'a failover that nobody asked for', at: this.#seconds, from: this.#settledAt },
    );
  }

  async #noteMasters(): Promise<void> {
    this.#masters = await this.#mastersNow();
    this.#settledAt = nowUs();
  }

  async #haveMastersChanged(): Promise<boolean> {
    return (await this.#mastersNow()) !== this.#masters;
  }

  async #mastersNow(): Promise<string> {
    const masters = await this.#group.masters();
    return masters
      .map(({ port }) => port)
      .toSorted((a, b) => a - b)
      .join(', ');
  }

  #lookForStalls(): void {
    for (const { name, movedAt, isRunning } of this.#conductors) {
      const stillMs = performance.now() - movedAt;
      if (!isRunning) this.#failures.push(`the process of ${name} has ended`);
      else if (stillMs > STALLED_MS)
        this.#failures.push(`${name} has not moved for ${(stillMs / 1_000).toFixed(0)} s`);
    }
  }

  async #processes(): Promise<(Veteran & { readonly keepsEvidence: boolean })[]> {
    const all = await Promise.all(
      this.#conductors.map(async (conductor) => {
        const veterans = await conductor.ask<'veterans'>({ do: 'veterans' });
        return veterans.map(({ name, pid }) => ({
          name: `${conductor.name}, ${name}`,
          pid,
          keepsEvidence: name === 'conductor',
        }));
      }),
    );
    return [...all.flat(), { name: 'links', pid: this.#links.pid, keepsEvidence: false }];
  }

  async #sample(
    processes: readonly Veteran[],
  ): Promise<{ samples: (Sample | undefined)[]; connections: number }> {
    await this.#lookForFailover();
    return { samples: await this.#memory.sample(processes), connections: await this.#connections() };
  }

  /** One workload after the other, because checks of many records take much CPU. */
  async #finish(): Promise<WorkloadReport[]> {
    const reports: WorkloadReport[] = [];
    for (const conductor of this.#conductors) {
      const { name } = conductor;
      try {
        // Those that come later still work, on a machine that is busy with the checks.
        await this.#lookForFailover();
        const finding = await conductor.ask<'finish'>({ do: 'finish' });
        const left = await conductor.ask<'clean'>({ do: 'clean' });
        reports.push({ name, ...finding, left });
      } catch (error) {
        reports.push({ name, violations: [(error as Error).stack!], figures: {}, left: EMPTY });
      }
      this.#options.onProgress(`${name}: ${reports.at(-1)!.violations.length} violations`);
    }
    return reports;
  }

  async #leftConnections(): Promise<number> {
    await Promise.all(this.#conductors.map((conductor) => conductor.kill()));
    let left = 0;
    const areClosed = async (): Promise<boolean> => {
      left = await this.#connections();
      return left === 0;
    };
    await until('all connections to be closed', areClosed, CONNECTIONS_MS).catch(() => undefined);
    return left;
  }

  /** The number of client connections to all servers, without those that send this command. */
  async #connections(): Promise<number> {
    const counts = await Promise.all(
      this.#group.servers.map(async (server) => {
        const normal = await server.command('CLIENT', 'LIST', 'TYPE', 'normal');
        const subscribed = await server.command('CLIENT', 'LIST', 'TYPE', 'pubsub');
        const lines = `${String(normal)}\n${String(subscribed)}`.split('\n');
        return lines.filter((line) => / cmd=(?!client\|list)/.test(line) && !isOfSentinel(line)).length;
      }),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }
}

function isOfSentinel(line: string): boolean {
  return / name=sentinel-/.test(line);
}
