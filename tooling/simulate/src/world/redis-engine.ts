/**
 * One real Redis, whose clock is that of the world (`server-clock.c`). It executes one command after the other. Before a reply goes to
 * the world, each subscribed connection answers a PING, so that all messages of the command have arrived.
 *
 * Rejected: a clock through the `TIME` of the scripts alone. Redis would still expire keys by the clock of the machine.
 */
import type { CommandArgument } from '@mortise/redis';
import type { RedisServer } from '@mortise/redis-server';
import { startSingle } from '@mortise/redis-server';
import { Redis } from 'ioredis';
import { join } from 'node:path';
import type { Engine, Engines, Link, OnPush, Outcome } from './engine.js';
import { ServerClock } from './server-clock.js';

type Kind = 'call' | 'callBuffer';

const US_OF_MS = 1_000;
/** As the engine in memory: at an instant that stands still, each command is later. */
const STEP_US = 20;
const SUBSCRIBES = /^p?s?(?:un)?subscribe$/;
/** A hash keeps the order of its fields. In a table, the order would be that of a number that the server draws at its start. */
const ORDERED = ['--hash-max-listpack-entries', '100000', '--hash-max-listpack-value', '1000000'];
/** As the engine in memory. */
const INFO = `# Server\r\nredis_version:7.4.0\r\nredis_mode:standalone\r\n# Memory\r\nused_memory:0\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n# Replication\r\nrole:master\r\nconnected_slaves:0\r\n`;

/** A server for all worlds of a run. */
export class RedisEngines implements Engines {
  readonly #server: RedisServer;
  readonly #clock: ServerClock;
  readonly #path: string;
  readonly #commands: Redis;
  /** Connections whose links are gone. */
  readonly #free: Redis[] = [];
  #last: RedisEngine | undefined;

  private constructor(server: RedisServer, clock: ServerClock, path: string) {
    this.#server = server;
    this.#clock = clock;
    this.#path = path;
    this.#commands = this.connect();
  }

  static async start(): Promise<RedisEngines> {
    const clock = new ServerClock();
    const path = join(clock.directory, 'socket');
    clock.set(Date.now() * US_OF_MS);
    const server = await startSingle({ env: clock.env, args: ['--unixsocket', path, ...ORDERED] });
    // A key would go at an instant that no seed decides.
    await server.command('DEBUG', 'SET-ACTIVE-EXPIRE', '0');
    return new RedisEngines(server, clock, path);
  }

  make(now: () => number): Engine {
    this.#last?.close();
    this.#last = new RedisEngine(this, now);
    return this.#last;
  }

  execute(kind: Kind, command: string, args: CommandArgument[]): Promise<unknown> {
    return this.#commands[kind](command, args);
  }

  /** @param us µs since the epoch. */
  setClock(us: number): void {
    this.#clock.set(us);
  }

  /** A connection for subscriptions. */
  take(): Redis {
    return this.#free.pop() ?? this.connect();
  }

  /** Takes it back when it has no subscription any more. */
  give(redis: Redis): void {
    redis.removeAllListeners('messageBuffer').removeAllListeners('smessageBuffer');
    this.#free.push(redis);
  }

  connect(): Redis {
    return new Redis({ path: this.#path, protocol: 2, enableReadyCheck: false, disableClientInfo: true });
  }

  async stop(): Promise<void> {
    this.#last?.close();
    await this.#last?.settled();
    for (const redis of [this.#commands, ...this.#free]) redis.disconnect();
    await this.#server.stop();
    this.#clock.close();
  }
}

class RedisEngine implements Engine {
  readonly #engines: RedisEngines;
  readonly #now: () => number;
  readonly #links = new Set<RedisLink>();
  #us = 0;
  #pending: Promise<void> | undefined;
  #appended = 0;
  #failure: unknown;

  constructor(engines: RedisEngines, now: () => number) {
    this.#engines = engines;
    this.#now = now;
    this.enqueue(async () => {
      await this.execute('call', 'flushall', []);
      await this.execute('call', 'script', ['flush']);
    });
    this.#us = 0;
  }

  connect(onPush: OnPush): Link {
    const link = new RedisLink(this, onPush);
    this.#links.add(link);
    return link;
  }

  flushScripts(): void {
    this.enqueue(async () => void (await this.execute('call', 'script', ['flush'])));
  }

  flushAll(): void {
    this.#append(async () => void (await this.execute('call', 'flushall', [])));
  }

  settled(): Promise<void> | undefined {
    if (this.#failure !== undefined) throw this.#failure;
    return this.#pending;
  }

  close(): void {
    for (const link of this.#links) link.close();
  }

  /** Executes commands after all that was enqueued before, at this moment of the clock. */
  enqueue(run: () => Promise<void>): void {
    const us = this.#nextUs();
    this.#append(() => {
      this.#engines.setClock(us);
      return run();
    });
  }

  #append(run: () => Promise<void>): void {
    this.#appended += 1;
    this.#pending = this.#after(this.#pending, run, this.#appended);
  }

  async #after(before: Promise<void> | undefined, run: () => Promise<void>, number: number): Promise<void> {
    await before;
    try {
      await run();
    } catch (error) {
      this.#failure ??= error;
    }
    if (this.#appended === number) this.#pending = undefined;
  }

  /** @param redis Default: the connection for all commands but subscriptions. */
  execute(kind: Kind, command: string, args: CommandArgument[], redis?: Redis): Promise<unknown> {
    // Nothing of the machine gets into a history.
    if (command === 'info') return Promise.resolve(kind === 'call' ? INFO : Buffer.from(INFO));
    return redis ? redis[kind](command, args) : this.#engines.execute(kind, command, args);
  }

  /** Waits for all messages that were sent until now. */
  async deliver(): Promise<void> {
    const subscribed = Array.from(this.#links, ({ subscriptions }) => subscriptions ?? []).flat();
    await Promise.all(subscribed.map((redis) => redis.ping()));
  }

  subscriptions(): Redis {
    return this.#engines.take();
  }

  forget(link: RedisLink): void {
    this.#append(async () => {
      this.#links.delete(link);
      const { subscriptions } = link;
      if (!subscriptions) return;
      await Promise.all([subscriptions.unsubscribe(), subscriptions.sunsubscribe()]);
      this.#engines.give(subscriptions);
    });
  }

  #nextUs(): number {
    const us = Math.floor(this.#now() * US_OF_MS);
    const isSameMs = Math.floor(us / US_OF_MS) === Math.floor(this.#us / US_OF_MS);
    const last = Math.floor(us / US_OF_MS) * US_OF_MS + US_OF_MS - 1;
    this.#us = isSameMs && us <= this.#us ? Math.min(last, this.#us + STEP_US) : us;
    return this.#us;
  }
}

class RedisLink implements Link {
  /** RESP2 has a connection for them; the link itself may be one of RESP3. */
  subscriptions: Redis | undefined;
  readonly #engine: RedisEngine;
  readonly #onPush: OnPush;
  #isClosed = false;

  constructor(engine: RedisEngine, onPush: OnPush) {
    this.#engine = engine;
    this.#onPush = onPush;
  }

  execute(kind: Kind, command: string, args: CommandArgument[], onReply: (outcome: Outcome) => void): void {
    this.#engine.enqueue(async () => {
      let outcome: Outcome;
      try {
        outcome = { reply: await this.#execute(kind, command, args) };
      } catch (error) {
        outcome = { error };
      }
      await this.#engine.deliver();
      onReply(outcome);
    });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#engine.forget(this);
  }

  #execute(kind: Kind, command: string, args: CommandArgument[]): Promise<unknown> {
    if (!SUBSCRIBES.test(command)) return this.#engine.execute(kind, command, args);
    this.subscriptions ??= this.#subscribe();
    return this.#engine.execute(kind, command, args, this.subscriptions);
  }

  #subscribe(): Redis {
    const redis = this.#engine.subscriptions();
    for (const event of ['messageBuffer', 'smessageBuffer'])
      redis.on(event, (channel: Buffer, message: Buffer) => {
        if (!this.#isClosed) this.#onPush(event, channel, message);
      });
    return redis;
  }
}
