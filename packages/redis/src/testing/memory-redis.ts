/** A client of a server in memory, with the interface of ioredis that the packages use. */
import { EventEmitter } from 'node:events';
import type { CommandArgument, RedisClient } from '../client.js';
import type { MemoryServer, Session } from './memory-server.js';
import type { Reply } from './reply.js';
import { Status } from './reply.js';

/** The one of Node, also where a test replaces timers. */
const { setImmediate: soon } = globalThis;
const PLAIN = /^[\0-\x7f]*$/;

type Outcome = [error: Error | null, reply: unknown];
type Convert = (text: string) => unknown;

/** Deliveries of one server, in the order in which they were made, in a later turn of the event loop. */
export class Deliveries {
  #waiting: (() => void)[] = [];
  /** Grows with each delivery. */
  count = 0;

  add(deliver: () => void): void {
    if (this.#waiting.length === 0) soon(() => this.#run());
    this.#waiting.push(deliver);
    this.count += 1;
  }

  #run(): void {
    const due = this.#waiting;
    this.#waiting = [];
    for (const deliver of due) deliver();
  }
}

/** Behaves as a client of ioredis 6 that is connected. Replies come in a later turn of the event loop, in their order. */
export class MemoryConnection extends EventEmitter implements RedisClient {
  readonly isCluster = false;
  readonly options: object = {};
  /** Messages come over this connection. */
  readonly condition = { protocol: 3, subscriber: false as const };
  readonly #server: MemoryServer;
  readonly #deliveries: Deliveries;
  readonly #session: Session;
  readonly #pending = new Set<(error: Error) => void>();
  #isEnded = false;

  constructor(server: MemoryServer, deliveries: Deliveries) {
    super();
    this.setMaxListeners(0);
    this.#server = server;
    this.#deliveries = deliveries;
    this.#session = server.connect((kind, channel, message) => {
      const event = kind === 'plain' ? 'messageBuffer' : 'smessageBuffer';
      deliveries.add(() => {
        if (!this.#isEnded) this.emit(event, bytesOf(channel), bytesOf(message));
      });
    });
  }

  get status(): string {
    return this.#isEnded ? 'end' : 'ready';
  }

  call(command: string, ...args: (CommandArgument | CommandArgument[])[]): Promise<unknown> {
    return this.#send(command, args.flat(), utf8Of);
  }

  callBuffer(command: string, ...args: (CommandArgument | CommandArgument[])[]): Promise<unknown> {
    return this.#send(command, args.flat(), bytesOf);
  }

  /** Commands that are sent together. */
  pipeline(): { call(command: string, ...args: CommandArgument[]): void; exec(): Promise<Outcome[]> } {
    const calls: (() => Promise<Outcome>)[] = [];
    return {
      call: (command, ...args) => {
        calls.push(() =>
          this.call(command, args).then(
            (reply): Outcome => [null, reply],
            (error: unknown): Outcome => [error as Error, undefined],
          ),
        );
      },
      exec: () => Promise.all(calls.map((send) => send())),
    };
  }

  duplicate(): MemoryConnection {
    return new MemoryConnection(this.#server, this.#deliveries);
  }

  /** Ends the connection. `true` ends its subscriptions, and connects again. */
  disconnect(reconnect = false): void {
    if (this.#isEnded) return;
    this.#server.disconnect(this.#session);
    for (const reject of this.#pending) reject(new Error('Connection is closed.'));
    this.#pending.clear();
    if (!reconnect) this.#isEnded = true;
    this.emit('close');
    this.emit(reconnect ? 'ready' : 'end');
  }

  /** Resolves when all replies have arrived, and ends the connection. */
  async quit(): Promise<'OK'> {
    if (!this.#isEnded) await this.call('ping');
    this.disconnect();
    return 'OK';
  }

  #send(command: string, args: readonly CommandArgument[], convert: Convert): Promise<unknown> {
    if (this.#isEnded) return Promise.reject(new Error('Connection is closed.'));
    const name = command.toLowerCase();
    const reply = this.#execute(name, args.map(textOf));
    return new Promise((resolve, reject) => {
      this.#pending.add(reject);
      this.#deliveries.add(() => {
        this.#pending.delete(reject);
        if (reply instanceof Error) reject(reply);
        else resolve(shaped(name, converted(reply, convert)));
      });
    });
  }

  #execute(name: string, args: readonly string[]): Reply | Error {
    try {
      return this.#server.execute(this.#session, name, args);
    } catch (error) {
      return error as Error;
    }
  }
}

function textOf(arg: CommandArgument): string {
  if (typeof arg === 'number') return String(arg);
  if (typeof arg !== 'string') return arg.toString('latin1');
  return PLAIN.test(arg) ? arg : Buffer.from(arg).toString('latin1');
}

function utf8Of(text: string): string {
  return PLAIN.test(text) ? text : Buffer.from(text, 'latin1').toString();
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}

function converted(reply: Reply, convert: Convert): unknown {
  if (typeof reply === 'string') return convert(reply);
  if (reply instanceof Status) return convert(reply.text);
  if (Array.isArray(reply)) return reply.map((each) => converted(each, convert));
  return reply;
}

/** ioredis gives a hash as an object. */
function shaped(name: string, reply: unknown): unknown {
  if (name !== 'hgetall' || !Array.isArray(reply)) return reply;
  const fields: [string, unknown][] = [];
  for (let at = 0; at < reply.length; at += 2) fields.push([String(reply[at]), reply[at + 1]]);
  return Object.fromEntries(fields);
}
