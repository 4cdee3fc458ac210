/** A virtual process: its own copy of the packages, clocks, timers and connections. */
import { Timers } from '../../../../packages/redis/dist/tsc/testing/fake-timer.js';
import { Random } from '../random.js';
import type { ConnectionOptions } from './connection.js';
import { Connection } from './connection.js';
import { doorOf } from './door.js';
import type { Engine } from './engine.js';
import type { Sources } from './realm.js';
import { Realm } from './realm.js';

export interface ProcessSetting {
  readonly name: string;
  readonly seed: number;
  readonly engine: Engine;
  readonly sources: Sources;
  /** ms since the world began. */
  readonly now: () => number;
  readonly connection: ConnectionOptions;
  readonly print: (line: string) => void;
  /** Adds a line to the history. */
  readonly record: (line: string) => void;
  readonly onLost: (process: VirtualProcess, connection: Connection) => void;
}

/** The instant at which each world begins, ms since the epoch. */
export const EPOCH_MS = 1_800_000_000_000;
const LONGEST_UPTIME_MS = 1_000_000;

export class VirtualProcess {
  readonly name: string;
  /** For the operations of the program, not for the packages. */
  readonly random: Random;
  readonly timers: Timers;
  readonly connections: Connection[] = [];
  /** Callbacks of `setImmediate`. */
  readonly soon: (() => void)[] = [];
  /** It does nothing until then, ms since the world began. */
  pausedUntil = 0;
  isDead = false;
  /** How far its wall clock is off, ms. */
  skewMs = 0;
  readonly #setting: ProcessSetting;
  readonly #realm: Realm;
  /** The monotonic clock begins with the machine. */
  readonly #uptimeMs: number;

  constructor(setting: ProcessSetting) {
    const { name, seed, sources, now, print } = setting;
    this.#setting = setting;
    this.name = name;
    this.random = new Random(seed, 1);
    this.timers = new Timers(now);
    this.#uptimeMs = Math.floor(this.random.between(0, LONGEST_UPTIME_MS));
    const door = doorOf({
      timers: this.timers,
      random: new Random(seed, 2),
      wallClock: () => EPOCH_MS + now() + this.skewMs,
      monotonic: () => this.#uptimeMs + now(),
      soon: (callback) => void this.soon.push(callback),
      print: (line) => print(`${name} prints ${line}`),
    });
    this.#realm = new Realm(sources, door);
  }

  load<Exports>(name: string): Exports {
    return this.#realm.load<Exports>(name);
  }

  connect(): Connection {
    const { engine, connection, onLost } = this.#setting;
    const opened = (one: Connection): void => void this.connections.push(one);
    return new Connection({ engine, opened, lost: (one) => onLost(this, one) }, connection);
  }

  /** ms since the world began. */
  now(): number {
    return this.#setting.now();
  }

  /** An instant of its monotonic clock, ms since the world began. */
  sinceBegin(monotonicMs: number): number {
    return monotonicMs - this.#uptimeMs;
  }

  note(text: string): void {
    this.#setting.record(`${this.name} ${text}`);
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.timers.add(() => resolve(), ms, false, []);
    });
  }

  /** No further command or timer of it runs. Its commands on the wire may still arrive. */
  kill(): void {
    this.isDead = true;
    this.timers.clear();
    this.soon.length = 0;
    for (const connection of this.connections) connection.sever();
  }
}
