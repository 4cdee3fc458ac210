/**
 * A client with the interface of ioredis, whose wire is a pair of queues. The world moves the next command of one queue to the
 * server, or the next reply of the other to the process. A cut wire loses what was in both; commands that the server had
 * received but not executed may still be executed, after those of the next connection.
 */
import { EventEmitter } from 'node:events';
import type { CommandArgument, RedisClient } from '@mortise/redis';
import type { Engine, Link, Outcome } from './engine.js';

export interface Request {
  readonly kind: 'call' | 'callBuffer';
  readonly command: string;
  readonly args: CommandArgument[];
  readonly settle: (outcome: Outcome) => void;
  isSettled: boolean;
}

/** A reply or a message on its way to the process. */
interface Delivery {
  /** For the history. */
  readonly text: () => string;
  readonly deliver: () => void;
}

/** Commands that are on the way to the server. */
export interface Wire {
  readonly requests: Request[];
  readonly replies: Delivery[];
  readonly link: Link;
  /** The process no longer listens. */
  isCut: boolean;
}

export interface ConnectionOptions {
  /** Whether commands without a reply are sent again after a reconnect, as ioredis does by default; else they reject. */
  readonly resends: boolean;
  /** RESP 2 needs a duplicate for subscriptions. */
  readonly protocol: 2 | 3;
}

/** Those options of ioredis for a duplicate that its user depends on. */
interface DuplicateOptions {
  readonly autoResubscribe?: boolean;
  readonly autoResendUnfulfilledCommands?: boolean;
  /** null: a lost connection ends. */
  readonly retryStrategy?: unknown;
}

export interface Owner {
  readonly engine: Engine;
  opened(connection: Connection): void;
  /** It waits for its `reconnect`. */
  lost(connection: Connection): void;
}

const SUBSCRIBES = new Map([
  ['subscribe', 1],
  ['unsubscribe', -1],
  ['ssubscribe', 1],
  ['sunsubscribe', -1],
]);

export class Connection extends EventEmitter implements RedisClient {
  readonly isCluster = false;
  readonly options: ConnectionOptions;
  readonly condition: { readonly protocol: number; readonly subscriber: false };
  status = 'ready';
  wire: Wire;
  readonly #owner: Owner;
  readonly #resubscribes: boolean;
  readonly #reconnects: boolean;
  /** Sent or kept, without a reply, in their order. */
  #unanswered: Request[] = [];
  /** Per command, so that plain and shard channels are subscribed again by their own. */
  readonly #channels = new Map<string, 'subscribe' | 'ssubscribe'>();

  constructor(owner: Owner, options: ConnectionOptions, own: DuplicateOptions = {}) {
    super();
    this.setMaxListeners(0);
    this.#owner = owner;
    this.options = own.autoResendUnfulfilledCommands === false ? { ...options, resends: false } : options;
    this.#resubscribes = own.autoResubscribe ?? true;
    this.#reconnects = own.retryStrategy !== null;
    this.condition = { protocol: options.protocol, subscriber: false };
    this.wire = this.#connect();
    owner.opened(this);
  }

  call(command: string, ...args: (CommandArgument | CommandArgument[])[]): Promise<unknown> {
    return this.#send('call', command, args.flat());
  }

  callBuffer(command: string, ...args: (CommandArgument | CommandArgument[])[]): Promise<unknown> {
    return this.#send('callBuffer', command, args.flat());
  }

  /** Commands that are sent together. */
  pipeline(): {
    call(command: string, ...args: CommandArgument[]): void;
    exec(): Promise<[error: unknown, reply: unknown][]>;
  } {
    const calls: (() => Promise<[error: unknown, reply: unknown]>)[] = [];
    return {
      call: (command, ...args) => {
        calls.push(() =>
          this.call(command, args).then(
            (reply): [unknown, unknown] => [null, reply],
            (error: unknown): [unknown, unknown] => [error, undefined],
          ),
        );
      },
      exec: () => Promise.all(calls.map((send) => send())),
    };
  }

  duplicate(options?: DuplicateOptions): Connection {
    return new Connection(this.#owner, this.options, options);
  }

  disconnect(reconnect = false): void {
    if (this.status === 'end') return;
    if (reconnect) {
      this.cut();
      return;
    }
    this.#cutWire();
    this.status = 'end';
    this.#reject();
    this.emit('close');
    this.emit('end');
  }

  /** Loses the wire. */
  cut(): void {
    if (this.status !== 'ready') return;
    if (!this.#reconnects) {
      this.disconnect();
      return;
    }
    this.#cutWire();
    this.status = 'reconnecting';
    if (!this.options.resends) this.#reject();
    this.#owner.lost(this);
    this.emit('close');
    this.emit('reconnecting');
  }

  /** The process is gone, so nobody is notified. */
  sever(): void {
    if (this.status === 'ready') this.#cutWire();
    this.status = 'end';
  }

  reconnect(): void {
    if (this.status !== 'reconnecting') return;
    this.wire = this.#connect();
    this.status = 'ready';
    if (this.#resubscribes)
      for (const [channel, command] of this.#channels) this.#subscribeAgain(command, channel);
    else this.#channels.clear();
    this.wire.requests.push(...this.#unanswered);
    this.emit('ready');
  }

  /** Executes the next command. Its reply joins the other queue, unless nobody listens any more. */
  static execute(wire: Wire): Request {
    const request = wire.requests.shift()!;
    const { kind, command, args } = request;
    wire.link.execute(kind, command, args, (outcome) => {
      if (!wire.isCut)
        wire.replies.push({
          text: () => `${command} ${shown(outcome)}`,
          deliver: () => request.settle(outcome),
        });
    });
    return request;
  }

  #connect(): Wire {
    const replies: Delivery[] = [];
    const link = this.#owner.engine.connect((event, channel, message) => {
      const deliver = (): void => void this.emit(event, channel, message);
      const text = (): string => `message ${String(channel)} ${message.toString('latin1')}`;
      if (!wire.isCut) replies.push({ text, deliver });
    });
    const wire: Wire = { requests: [], replies, link, isCut: false };
    return wire;
  }

  /** The server learns of it when it has executed what it has received. */
  #cutWire(): void {
    this.wire.isCut = true;
    this.wire.replies.length = 0;
    // Messages are lost at once; a command that still runs subscribes nobody.
    if (this.wire.requests.length === 0) this.wire.link.close();
  }

  #subscribeAgain(command: 'subscribe' | 'ssubscribe', channel: string): void {
    this.wire.requests.push({
      kind: 'call',
      command,
      args: [channel],
      settle: () => undefined,
      isSettled: true,
    });
  }

  #send(kind: Request['kind'], command: string, args: CommandArgument[]): Promise<unknown> {
    if (this.status === 'end') return Promise.reject(new Error('Connection is closed.'));
    const name = command.toLowerCase();
    return new Promise((resolve, reject) => {
      const request: Request = {
        kind,
        command: name,
        args,
        isSettled: false,
        settle: (outcome) => {
          if (request.isSettled) return;
          request.isSettled = true;
          const at = this.#unanswered.indexOf(request);
          if (at >= 0) this.#unanswered.splice(at, 1);
          if ('error' in outcome) {
            reject(outcome.error);
            return;
          }
          this.#noteChannels(name, args);
          resolve(outcome.reply);
        },
      };
      this.#unanswered.push(request);
      if (this.status === 'ready') this.wire.requests.push(request);
    });
  }

  #noteChannels(command: string, channels: readonly CommandArgument[]): void {
    const change = SUBSCRIBES.get(command);
    if (change === undefined) return;
    for (const channel of channels.map(String)) {
      if (change > 0) this.#channels.set(channel, command as 'subscribe');
      else this.#channels.delete(channel);
    }
  }

  #reject(): void {
    for (const request of this.#unanswered.splice(0))
      request.settle({ error: new Error('Connection is closed.') });
  }
}

function shown({ error, reply }: Outcome): string {
  return error instanceof Error ? error.message : shownReply(reply);
}

function shownReply(reply: unknown): string {
  if (Buffer.isBuffer(reply)) return reply.toString('latin1');
  return Array.isArray(reply) ? `[${reply.map(shownReply).join(' ')}]` : String(reply);
}
