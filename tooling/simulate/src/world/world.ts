/**
 * The scheduler: it chooses which command reaches the server next, which reply reaches its process, which timer fires, and when
 * time passes. All choices come from the seed. Between two choices the processes run until they only wait.
 */
import { createHash } from 'node:crypto';
import { Timers } from '../../../../packages/redis/dist/tsc/testing/fake-timer.js';
import type { Fault, Plan } from '../plan.js';
import { LOSSES, SERVER_CLOCK } from '../plan.js';
import { Random } from '../random.js';
import type { Wire } from './connection.js';
import { Connection } from './connection.js';
import type { Engine, Engines } from './engine.js';
import { EPOCH_MS, VirtualProcess } from './process.js';
import { ServerState } from './server-state.js';
import type { Sources } from './realm.js';

const { setImmediate: turn } = globalThis;

/** Streams of the seed. */
const ORDER = 3;
const PROCESS_SEEDS = 4;
/** The most virtual time between two messages. */
const HOP_MS = 0.3;
const MAX_IDLE_MS = 50;
/** After a process itself gave a connection up. */
const RECONNECT_MS = 50;
const OF_SERVER = new Set<Fault['kind']>(['stall', 'flush scripts', ...SERVER_CLOCK, ...LOSSES]);

export interface WorldOptions {
  readonly plan: Plan;
  readonly sources: Sources;
  readonly engines: Engines;
  /** See `Programs`. */
  readonly isInOrder: boolean;
  /** Keeps the text of each step. */
  readonly keepsSteps?: boolean;
  /** Starts the program of a process. The same number starts again after a crash. */
  readonly start: (process: VirtualProcess, number: number) => void;
}

type Step = () => void;

export class World {
  readonly steps: string[] = [];
  readonly engine: Engine;
  /** Lines that processes printed, and errors that nobody caught. */
  readonly problems: string[] = [];
  /** When processes crashed, by name: ms since the world began. */
  readonly killed = new Map<string, number>();
  /** Faults so far: when they came, ms since the world began, and to which process; those of the server to none. */
  readonly suffered: { readonly at: number; readonly kind: Fault['kind']; readonly process?: string }[] = [];
  /** The clock and the past of the server. */
  readonly server: ServerState;
  now = 0;
  count = 0;
  hasFaults = true;
  readonly #options: WorldOptions;
  readonly #random: Random;
  readonly #seeds: Random;
  readonly #hash = createHash('sha256');
  readonly #processes = new Map<number, VirtualProcess>();
  /** Commands on their way, of connections that are gone. */
  #zombies: Wire[] = [];
  /** Reconnects and restarts. */
  readonly #events = new Timers(() => this.now);
  #faults: Fault[];
  #stalledUntil = 0;
  #downMs = RECONNECT_MS;
  readonly #idleness: number;
  readonly #resends: boolean;
  readonly #protocol: 2 | 3;

  constructor(options: WorldOptions) {
    const { plan, engines } = options;
    this.#options = options;
    this.#random = new Random(plan.seed, ORDER + 2 * plan.order);
    this.#seeds = new Random(plan.seed, PROCESS_SEEDS);
    this.server = new ServerState(plan, () => this.now);
    this.engine = engines.make(() => EPOCH_MS + this.server.now());
    this.#faults = plan.faults.toSorted((a, b) => a.atStep - b.atStep);
    this.#idleness = this.#seeds.pick([0.01, 0.05, 0.2]);
    this.#resends = this.#seeds.isTrue(0.7);
    this.#protocol = this.#seeds.isTrue(0.7) ? 3 : 2;
    for (const number of plan.processes) this.#startProcess(number);
  }

  /** The digest of all steps so far. */
  get digest(): string {
    return this.#hash.copy().digest('hex');
  }

  /** Makes a process without faults, such as one that reads the result. */
  spawn(name: string): VirtualProcess {
    const process = this.#make(name, this.#seeds.uint32());
    this.#processes.set(-1 - this.#processes.size, process);
    return process;
  }

  record(text: string): void {
    const line = `${this.now.toFixed(3)} ${text}\n`;
    this.#hash.update(line);
    if (this.#options.keepsSteps) this.steps.push(line.trimEnd());
  }

  /** Goes on until the condition holds. Resolves to false if nothing can happen any more, or at a limit. */
  async runUntil(isDone: () => boolean, maxSteps: number, maxMs = Infinity): Promise<boolean> {
    const last = this.count + maxSteps;
    const until = this.now + maxMs;
    for (;;) {
      await this.#settle();
      if (isDone()) return true;
      if (this.count >= last || this.now > until || !this.#step()) return false;
    }
  }

  /** Ends all faults that last. */
  heal(): void {
    this.#catchUp();
    this.hasFaults = false;
    this.#stalledUntil = 0;
    for (const process of this.#processes.values()) process.pausedUntil = 0;
  }

  #make(name: string, seed: number): VirtualProcess {
    return new VirtualProcess({
      name,
      seed,
      engine: this.engine,
      sources: this.#options.sources,
      now: () => this.now,
      connection: { resends: this.#resends, protocol: this.#protocol },
      print: (line) => {
        this.record(line);
        this.problems.push(line);
      },
      record: (line) => this.record(line),
      onLost: (process, connection) => this.#reconnectLater(process, connection),
    });
  }

  #startProcess(number: number, life = 0): void {
    this.#catchUp();
    const name = life === 0 ? `p${number}` : `p${number}.${life}`;
    // Not the next number of a stream: leaving out a process would change the others.
    const process = this.#make(name, this.#options.plan.seed * 31 + number * 7 + life);
    this.#processes.set(number, process);
    this.record(`${name} starts`);
    this.#options.start(process, number);
  }

  /** Runs the processes until they only wait. */
  async #settle(): Promise<void> {
    for (;;) {
      await this.engine.settled();
      // Promises and nextTick of this turn have run before its callback.
      await new Promise((resolve) => {
        turn(resolve);
      });
      let isQuiet = this.engine.settled() === undefined;
      for (const { soon, isDead } of this.#processes.values()) {
        const callback = isDead ? undefined : soon.shift();
        if (!callback) continue;
        isQuiet = false;
        callback();
      }
      if (isQuiet) return;
    }
  }

  #step(): boolean {
    this.count += 1;
    this.#inject();
    const steps = this.#possible();
    const isIdle = steps.length === 0 || this.#random.isTrue(this.#idleness);
    if (isIdle) return this.#pass(steps.length === 0) || steps.length > 0;
    this.now += this.#random.next() * HOP_MS;
    this.#random.pick(steps)();
    return true;
  }

  /** Lets time pass to the next instant at which something can happen. */
  #pass(isQuiet: boolean): boolean {
    let next = this.#events.nextAt();
    for (const process of this.#processes.values()) {
      if (process.isDead) continue;
      const { pausedUntil } = process;
      if (pausedUntil > this.now) next = Math.min(next, pausedUntil);
      else next = Math.min(next, process.timers.nextAt());
    }
    if (this.#stalledUntil > this.now) next = Math.min(next, this.#stalledUntil);
    if (next === Infinity) return false;
    this.now = Math.max(this.now, isQuiet ? next : Math.min(next, this.now + MAX_IDLE_MS));
    return true;
  }

  #possible(): Step[] {
    const steps: Step[] = [];
    const isServing = this.#stalledUntil <= this.now;
    if (this.#events.nextAt() <= this.now) steps.push(() => this.#events.takeDue(this.now)!.run());
    if (isServing)
      for (const wire of this.#zombies) steps.push(() => this.#execute('a lost connection', wire));
    for (const process of this.#processes.values()) {
      if (process.isDead) continue;
      for (const { wire } of process.connections)
        if (isServing && !wire.isCut && wire.requests.length > 0)
          steps.push(() => this.#execute(process.name, wire));
      if (process.pausedUntil > this.now) continue;
      if (process.timers.nextAt() <= this.now) steps.push(() => this.#fire(process));
      for (const { wire } of process.connections)
        if (wire.replies.length > 0) steps.push(() => this.#deliver(process.name, wire));
    }
    return steps;
  }

  #execute(who: string, wire: Wire): void {
    const request = Connection.execute(wire);
    const { command, args } = request;
    this.server.note(request);
    this.record(`${who} → ${command} ${args.map(String).join(' ')}`);
    if (!wire.isCut || wire.requests.length > 0) return;
    wire.link.close();
    this.#zombies = this.#zombies.filter((zombie) => zombie !== wire);
  }

  #deliver(who: string, wire: Wire): void {
    const { text, deliver } = wire.replies.shift()!;
    this.record(`${who} ← ${text()}`);
    deliver();
  }

  #fire(process: VirtualProcess): void {
    const timer = process.timers.takeDue(this.now)!;
    this.record(`${process.name} timer of ${timer.delayMs} ms`);
    try {
      timer.run();
    } catch (error) {
      this.problems.push(`${process.name}: uncaught ${String(error)}`);
    }
  }

  #inject(): void {
    while (this.hasFaults && this.#faults[0] && this.#faults[0].atStep <= this.count)
      this.#suffer(this.#faults.shift()!);
  }

  #suffer(fault: Fault): void {
    const living = [...this.#processes].filter(([number, { isDead }]) => number >= 0 && !isDead);
    const [number, process] = living[Math.floor(fault.target * living.length)] ?? [];
    if (number === undefined || !process) return;
    const isOfServer = OF_SERVER.has(fault.kind);
    this.suffered.push({ at: this.now, kind: fault.kind, ...(!isOfServer && { process: process.name }) });
    switch (fault.kind) {
      case 'crash':
        this.record(`${process.name} crashes, and starts again after ${fault.ms} ms`);
        this.#crash(number, process, fault);
        break;
      case 'cut':
        this.record(`${process.name} loses its connections for ${fault.ms} ms`);
        this.#cut(process, fault);
        break;
      case 'pause':
        this.record(`${process.name} stands still for ${fault.ms} ms`);
        process.pausedUntil = this.now + fault.ms;
        break;
      case 'clock':
        process.skewMs += (fault.arrives - 0.5) * 2 * fault.ms * 1_000;
        this.record(`the wall clock of ${process.name} is now off by ${process.skewMs} ms`);
        break;
      case 'stall':
        this.record(`the server stands still for ${fault.ms} ms`);
        this.#stalledUntil = this.now + fault.ms;
        break;
      case 'flush scripts':
        this.record('the server forgets its scripts');
        this.engine.flushScripts();
        break;
      case 'flush all':
        this.record('the server loses all keys');
        this.server.flushAll();
        this.engine.flushAll();
        break;
      case 'failover':
        this.#failOver(fault);
        break;
      case 'server clock':
        this.record(`the clock of the server jumps by ${this.server.jump(fault)} ms`);
        break;
      case 'server drift':
        this.record(`the clock of the server runs at ${this.server.drift(fault)} of its speed`);
        break;
    }
  }

  /** A replica takes over that lacks the last writes. All connections are lost, with what is on its way. */
  #failOver(fault: Fault): void {
    const kept = this.server.failOver(fault);
    this.record(`a replica without the writes of the last ${fault.ms} ms takes over`);
    for (const wire of this.#zombies.splice(0)) wire.link.close();
    for (const process of this.#processes.values())
      if (!process.isDead) this.#cut(process, { ...fault, arrives: 0 });
    this.engine.flushAll();
    this.engine.flushScripts();
    const link = this.engine.connect(() => undefined);
    this.server.replay(kept, ({ kind, command, args }) => link.execute(kind, command, args, () => undefined));
    link.close();
    // A replica gets effects, not scripts.
    this.engine.flushScripts();
  }

  #crash(number: number, process: VirtualProcess, fault: Fault): void {
    const wires = process.connections.map(({ wire }) => wire);
    process.kill();
    this.killed.set(process.name, this.now);
    this.#abandon(wires, fault);
    const life = Number(process.name.split('.')[1] ?? 0) + 1;
    this.#events.add(() => this.#startProcess(number, life), fault.ms, false, []);
  }

  #cut(process: VirtualProcess, fault: Fault): void {
    for (const connection of process.connections) {
      if (connection.status !== 'ready') continue;
      const { wire } = connection;
      this.#downMs = fault.ms;
      connection.cut();
      this.#downMs = RECONNECT_MS;
      this.#abandon([wire], fault);
    }
  }

  /** The server executes the rest of lost connections first, if the workload asks for it. */
  #catchUp(): void {
    if (!this.#options.isInOrder) return;
    for (let [wire] = this.#zombies; wire; [wire] = this.#zombies) this.#execute('a lost connection', wire);
  }

  #reconnectLater(process: VirtualProcess, connection: Connection): void {
    const reconnect = (): void => {
      if (process.isDead || connection.status !== 'reconnecting') return;
      this.#catchUp();
      this.record(`${process.name} reconnects`);
      connection.reconnect();
    };
    this.#events.add(reconnect, this.#downMs, false, []);
  }

  /** Some of what was sent gets lost, and the server still reads the rest. */
  #abandon(wires: readonly Wire[], { arrives }: Fault): void {
    for (const wire of wires) {
      if (wire.requests.length === 0) continue;
      wire.requests.length = Math.round(wire.requests.length * arrives);
      if (wire.requests.length > 0) this.#zombies.push(wire);
      else wire.link.close();
    }
  }
}
