/**
 * One client of node-redis behind the interface of ioredis that the packages use. Commands, pipelines and scripts travel over the
 * given client; subscriptions only over duplicates. node-redis writes the commands of one turn of the event loop at its end, so a
 * pipeline is nothing but its commands.
 *
 * A command whose reply was lost is sent again, as ioredis does and as the packages expect: node-redis would reject it, though it may
 * have been executed. One difference stays: a command is written at the end of the turn, not in the call.
 */
import { EventEmitter } from 'node:events';
import { afterMicrotasks } from '../after-microtasks.js';
import type { CommandArgument, RedisClient } from '../client.js';
import type { DuplicateOptions } from './duplicate-options.js';
import { duplicateOverrides } from './duplicate-options.js';
import { connectionClosed, failureOf, notConnected } from './failures.js';
import type { Bulk } from './replies.js';
import { MAPPINGS, shaperOf } from './replies.js';
import type { NodeRedisArgument, NodeRedisClient } from './types.js';

/** As `condition` of `options` in ioredis. */
interface ConnectionOptions {
  readonly host: string | undefined;
  readonly port: number | undefined;
  readonly path: string | undefined;
  readonly db: number | undefined;
  readonly connectionName: string | undefined;
}

interface ConnectionSettings {
  /** The node's own, since the client may use another one (`nodeAddressMap`). */
  readonly address?: { readonly host: string; readonly port: number };
  /** Whether commands whose reply was lost are sent again. Otherwise they reject as those of a closed client. */
  readonly resends?: boolean;
  /** Whether node-redis subscribes again after a loss. Otherwise the new connection begins without subscriptions. */
  readonly resubscribes?: boolean;
}

interface OptionsOfClient {
  readonly socket?: { readonly host?: string; readonly port?: number; readonly path?: string };
  readonly database?: number;
  readonly name?: string;
  readonly commandOptions?: { readonly timeout?: number };
}

interface Sent {
  readonly args: readonly NodeRedisArgument[];
  readonly bulk: Bulk;
  readonly resends: number;
}

/** As `maxRetriesPerRequest` of ioredis: a command that breaks each connection must end. */
const MAX_RESENDS = 20;

type Outcome = [error: Error | null, reply: unknown];

export class NodeRedisConnection extends EventEmitter implements RedisClient {
  readonly isCluster = false;
  readonly options: ConnectionOptions;
  readonly #client: NodeRedisClient;
  readonly #commandOptions: Readonly<Record<Bulk, object>>;
  #wasOpen: boolean;
  /** It was ready, or an attempt to connect has failed. */
  #hasTried: boolean;
  /** Between `ready` and the loss of the connection. */
  #isLive: boolean;
  /** Between `connect` and the loss of the connection. */
  #hasSocket: boolean;
  /** `end` was emitted for the present connection. */
  #isOver = false;
  /** `disconnect` was called, on a client that we opened. */
  #isClosing = false;
  #isRenewing = false;
  /** The error with which node-redis rejects the commands that were in flight. */
  #lostBy: unknown;
  /** Commands that were in flight, in their order. */
  readonly #lost: (() => void)[] = [];
  readonly #resends: boolean;
  readonly #resubscribes: boolean;

  constructor(
    client: NodeRedisClient,
    { address, resends = true, resubscribes = true }: ConnectionSettings = {},
  ) {
    super();
    this.setMaxListeners(0);
    const { socket, database, name, commandOptions } = (client.options ?? {}) as OptionsOfClient;
    // Also if it is undefined: the default of node-redis 6, 5 s, makes an AbortSignal for each command, which costs 10 µs.
    const timeout = commandOptions?.timeout;
    this.#commandOptions = {
      string: { typeMapping: MAPPINGS.string, timeout },
      buffer: { typeMapping: MAPPINGS.buffer, timeout },
    };
    const { host, port } = address ?? { host: socket?.host, port: socket?.port };
    this.options = { host, port, path: socket?.path, db: database, connectionName: name };
    this.#client = client;
    this.#resends = resends;
    this.#resubscribes = resubscribes;
    this.#wasOpen = client.isOpen;
    this.#hasTried = client.isReady;
    this.#isLive = client.isReady;
    this.#hasSocket = client.isReady;
    this.#attach();
  }

  get status(): string {
    const { isOpen, isReady } = this.#client;
    if (isOpen && !this.#isClosing) {
      this.#wasOpen = true;
      if (isReady) return 'ready';
      return this.#hasTried ? 'reconnecting' : 'connecting';
    }
    return this.#wasOpen ? 'end' : 'wait';
  }

  call(command: string, args: CommandArgument[]): Promise<unknown> {
    return this.#call(command, args, 'string');
  }

  callBuffer(command: string, args: CommandArgument[]): Promise<unknown> {
    return this.#call(command, args, 'buffer');
  }

  /** Commands that are written together. Its calls return nothing; `exec` resolves to all outcomes. */
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

  /** A connected duplicate. Connects in the background, as ioredis does. */
  duplicate(options: DuplicateOptions = {}): NodeRedisConnection {
    const overrides = duplicateOverrides(this.#client.options ?? {}, options);
    const client = this.#client.duplicate(overrides) as NodeRedisClient;
    const duplicate = new NodeRedisConnection(client, {
      resends: options.autoResendUnfulfilledCommands ?? true,
      resubscribes: options.autoResubscribe ?? true,
    });
    duplicate.#connect();
    return duplicate;
  }

  /** Ends the connection at once; `true` opens a new one. */
  disconnect(reconnect = false): void {
    if (!this.#client.isOpen || this.#isClosing) return;
    if (!this.#hasSocket) {
      // node-redis can't end a connection that is being made: it would come up later and stay.
      this.#isClosing = !reconnect;
      return;
    }
    this.#isRenewing = reconnect;
    this.#client.destroy();
    this.#isRenewing = false;
    if (reconnect) this.#connect();
  }

  #connect(): void {
    this.#wasOpen = true;
    // Failures arrive as events.
    this.#client.connect().catch(() => undefined);
  }

  #call(command: string, args: readonly CommandArgument[], bulk: Bulk): Promise<unknown> {
    const name = command.toLowerCase();
    switch (name) {
      case 'subscribe':
        return this.#subscribe(() => this.#client.subscribe(channelsOf(args), this.#onMessage, true));
      case 'ssubscribe':
        return this.#subscribe(() => this.#client.sSubscribe(channelsOf(args), this.#onShardMessage, true));
      case 'unsubscribe':
        // With the listener: otherwise node-redis takes a new subscription for one that it has, until the reply.
        return this.#client.unsubscribe(channelsOf(args), this.#onMessage, true).catch(fail);
      case 'sunsubscribe':
        return this.#client.sUnsubscribe(channelsOf(args), this.#onShardMessage, true).catch(fail);
      default:
        return this.send(name, encode(command, args), bulk);
    }
  }

  /** A subscription whose reply was lost is made again on the next connection. */
  async #subscribe(send: () => Promise<unknown>): Promise<unknown> {
    try {
      return await send();
    } catch (error) {
      if (error !== this.#lostBy || !this.#resends || !this.#client.isOpen) throw failureOf(error);
    }
    await new Promise<void>((resolve) => {
      const settle = (): void => {
        this.off('ready', settle);
        this.off('end', settle);
        resolve();
      };
      this.on('ready', settle);
      this.on('end', settle);
    });
    return this.#subscribe(send);
  }

  /** Sends a command whose arguments are encoded. @param name In lower case. */
  send(name: string, args: readonly NodeRedisArgument[], bulk: Bulk): Promise<unknown> {
    if (this.status === 'wait') return Promise.reject(notConnected());
    return this.#deliver({ args, bulk, resends: 0 }).then(shaperOf(name));
  }

  #deliver(command: Sent, isFirst = false): Promise<unknown> {
    const given = this.#commandOptions[command.bulk];
    const options = isFirst ? { ...given, asap: true } : given;
    return this.#client.sendCommand(command.args, options).catch((error: unknown) => {
      if (error !== this.#lostBy) throw failureOf(error);
      if (!this.#resends || !this.#client.isOpen) throw connectionClosed(error as Error);
      if (command.resends === MAX_RESENDS) throw error;
      return this.#resend(command);
    });
  }

  /** Resolves with the reply to the command, sent before all others that wait for the connection. */
  #resend(command: Sent): Promise<unknown> {
    if (this.#lost.length === 0) afterMicrotasks(() => this.#resendAll());
    return new Promise((resolve) => {
      this.#lost.push(() => resolve(this.#deliver({ ...command, resends: command.resends + 1 }, true)));
    });
  }

  /** Each goes to the front, so the last one is the first. */
  #resendAll(): void {
    for (const resend of this.#lost.splice(0).toReversed()) resend();
  }

  /**
   * node-redis subscribes again before it says that it is ready. Until then messages are dropped: a message after a loss must not
   * come before the loss is reported.
   */
  readonly #onMessage = (message: Buffer, channel: Buffer): void => {
    if (this.#isLive) this.emit('messageBuffer', channel, message);
  };

  readonly #onShardMessage = (message: Buffer, channel: Buffer): void => {
    if (this.#isLive) this.emit('smessageBuffer', channel, message);
  };

  #attach(): void {
    const client = this.#client;
    client.on('connect', () => {
      this.#wasOpen = true;
      this.#isOver = false;
      this.#hasSocket = true;
      if (this.#endIfClosing()) return;
      this.emit('connecting');
      this.emit('connect');
    });
    client.on('ready', () => {
      this.#hasTried = true;
      this.#isLive = true;
      this.emit('ready');
    });
    client.on('error', (error: unknown) => {
      this.#lostBy = error;
      this.#wasOpen = true;
      this.#hasTried = true;
      this.#lose();
      if (this.#endIfClosing()) return;
      if (this.listenerCount('error') > 0) this.emit('error', failureOf(error));
      // The reconnectStrategy has given up.
      if (!client.isOpen) this.#end();
    });
    client.on('reconnecting', () => {
      this.#lose();
      if (!this.#endIfClosing()) this.emit('reconnecting');
    });
    client.on('end', () => {
      this.#wasOpen = true;
      this.#lose();
      if (this.#isRenewing) this.emit('reconnecting');
      else this.#end();
    });
    client.on('sharded-channel-moved', () => this.emit('moved'));
  }

  #endIfClosing(): boolean {
    if (!this.#isClosing) return false;
    if (this.#client.isOpen) this.#client.destroy();
    return true;
  }

  #lose(): void {
    this.#hasSocket = false;
    if (!this.#isLive) return;
    this.#isLive = false;
    if (!this.#resubscribes) {
      this.#client.getPubSubListeners('CHANNELS').clear();
      this.#client.getPubSubListeners('SHARDED').clear();
    }
    this.emit('close');
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.emit('end');
  }
}

function fail(error: unknown): never {
  throw failureOf(error);
}

/** The command as node-redis takes it. */
export function encode(command: string, args: readonly CommandArgument[]): NodeRedisArgument[] {
  const encoded: NodeRedisArgument[] = [command];
  for (const arg of args) encoded.push(typeof arg === 'number' ? String(arg) : arg);
  return encoded;
}

function channelsOf(args: readonly CommandArgument[]): string[] {
  return args.map(String);
}
