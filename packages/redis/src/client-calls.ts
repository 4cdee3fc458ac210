/**
 * Sends the commands of one client, and bounds the time without a connection. By default ioredis 6 keeps a command for 76 s, and
 * a Cluster or `maxRetriesPerRequest: null` for ever. Here a call rejects after 10 s without a connection.
 *
 * ioredis executes a command that it keeps later, even if nobody waits for the reply: a worker would fetch tasks for no one. So
 * of the calls made during an outage only the first goes to ioredis. It connects a lazy client, and its error (a refused login, a
 * closed client) ends the others too. The others are held here, and sent once the client is ready.
 *
 * While connected, a call costs a link in a list and no timer. One timer serves all calls of an outage. The calls of a tick leave
 * together, up to sixteen in a write.
 */
import type { CommandArgument, RedisConnection } from './client.js';
import { isClosed, onClosed } from './closure.js';
import { ClientClosedError } from './coded-error.js';
import { failureOf } from './failure-of.js';
import { RedisUnreachableError } from './redis-errors.js';

/** The longest time of a call without a connection. */
const LIMIT_MS = 10_000;
/** The calls of one write: Redis works on them while this process makes the next ones. */
const MAX_COLLECTED = 16;

export type CallKind = 'call' | 'callBuffer';

interface Options {
  readonly enableAutoPipelining?: boolean;
  readonly enableOfflineQueue?: boolean;
  readonly commandTimeout?: number;
  readonly redisOptions?: Options;
}

/** A socket of Node. */
interface Stream {
  cork?(): void;
  uncork?(): void;
}

type SendArguments = (this: RedisConnection, args: CommandArgument[]) => Promise<unknown>;

/** ioredis makes functions of command names. They send at once, never through its automatic pipelines. */
interface ClientOfIoredis extends RedisConnection {
  readonly options?: Options;
  /** The present socket of a `Redis`. */
  readonly stream?: Stream | null;
  /** The connections of a `Cluster`. */
  nodes?(): readonly { readonly stream?: Stream | null }[];
  createBuiltinCommand(command: string): Record<'string' | 'buffer', SendArguments>;
}

/** `call` or `callBuffer`, or a function that sends several commands together. */
type Transmit = CallKind | (() => Promise<unknown>);

/** A call from its start to its end; a link of the list of calls that ioredis has. */
class Call {
  /** Infinity while connected. */
  deadlineAt = Infinity;
  previous: Call | undefined;
  next: Call | undefined;

  constructor(
    readonly transmit: Transmit,
    readonly command: string,
    readonly args: CommandArgument[],
    readonly resolve: (reply: unknown) => void,
    readonly reject: (error: unknown) => void,
  ) {}
}

const ofClients = new WeakMap<RedisConnection, ClientCalls>();

export class ClientCalls {
  readonly #client: ClientOfIoredis;
  /** The first and the last of the calls that ioredis has. A rejected one stays until ioredis settles it. */
  #first: Call | undefined;
  #last: Call | undefined;
  /** Calls that ioredis doesn't have yet, in their order. */
  #held: Call[] = [];
  #isWatching = false;
  /** The sockets that collect what is written, until the end of the tick. */
  #corked: Stream[] = [];
  #collected = 0;
  readonly #uncork = (): void => this.flush();

  static of(client: RedisConnection): ClientCalls {
    let calls = ofClients.get(client);
    if (!calls) {
      calls = new ClientCalls(client);
      ofClients.set(client, calls);
    }
    return calls;
  }

  private constructor(client: RedisConnection) {
    this.#client = client as ClientOfIoredis;
    client.on('close', () => this.#onLost());
    client.on('ready', () => this.#onReady());
    onClosed(client, () => this.#onClosed());
  }

  /** Sends a command. Calls one of the two callbacks, with the reply or with a `failureOf`. */
  send(
    transmit: Transmit,
    command: string,
    args: CommandArgument[],
    resolve: (reply: unknown) => void,
    reject: (error: unknown) => void,
  ): void {
    const call = new Call(transmit, command, args, resolve, reject);
    if (this.#client.status === 'ready' && this.#held.length === 0) this.#start(call);
    else this.#startOffline(call);
  }

  #startOffline(call: Call): void {
    const client = this.#client;
    if (isClosed(client)) {
      call.reject(new ClientClosedError());
      return;
    }
    if (client.status === 'ready') {
      // Between the moment at which ioredis is ready and its event.
      this.#onReady();
      this.#start(call);
      return;
    }
    call.deadlineAt = performance.now() + LIMIT_MS;
    if (this.#first && this.#mayHold) this.#held.push(call);
    else this.#start(call);
    this.#watch();
  }

  /** Without an offline queue, or with a time limit of its own, ioredis rejects each call in its time. */
  get #mayHold(): boolean {
    const { redisOptions = {}, ...options } = this.#client.options ?? {};
    return (
      (options.enableOfflineQueue ?? redisOptions.enableOfflineQueue) !== false &&
      (options.commandTimeout ?? redisOptions.commandTimeout) === undefined
    );
  }

  /** Writes now what was sent in this tick. */
  flush(): void {
    this.#collected = 0;
    for (const stream of this.#corked.splice(0)) stream.uncork?.();
  }

  /** A write for each command would cost this process more than the command itself. */
  #cork(): void {
    const { stream, isCluster } = this.#client;
    const streams = isCluster ? (this.#client.nodes?.() ?? []).map((node) => node.stream) : [stream];
    for (const one of streams) {
      if (!one?.cork) continue;
      one.cork();
      this.#corked.push(one);
    }
    if (this.#corked.length > 0) process.nextTick(this.#uncork);
  }

  #start(call: Call): void {
    let sent: Promise<unknown>;
    if (this.#corked.length === 0) this.#cork();
    this.#collected += 1;
    try {
      sent = this.#transmit(call);
    } catch (error) {
      // An argument that ioredis can't encode.
      call.reject(error);
      return;
    }
    call.previous = this.#last;
    if (this.#last) this.#last.next = call;
    else this.#first = call;
    this.#last = call;
    const onReply = (reply: unknown): void => {
      this.#unlink(call);
      call.resolve(reply);
    };
    sent.then(onReply, (error: unknown) => this.#fail(call, error));
    if (this.#collected === MAX_COLLECTED) this.flush();
  }

  #unlink({ previous, next }: Call): void {
    if (previous) previous.next = next;
    else this.#first = next;
    if (next) next.previous = previous;
    else this.#last = previous;
  }

  #fail(call: Call, error: unknown): void {
    this.#unlink(call);
    const failure = failureOf(this.#client, error);
    call.reject(failure);
    if (this.#held.length === 0 || this.#client.status === 'ready') return;
    // ioredis gives up what it has; it would have given up the held calls too.
    for (const held of this.#held.splice(0)) held.reject(failure);
  }

  /**
   * Sends without `enableAutoPipelining`. With it, ioredis before 5.11 sends a script to the node of its hash instead of its
   * keys. All versions fail scripts of a slot that moves (redis/ioredis#2109, #2075). The coalescer batches anyway.
   */
  #transmit({ transmit, command, args }: Call): Promise<unknown> {
    if (typeof transmit === 'function') return transmit();
    const client = this.#client;
    if (!client.options?.enableAutoPipelining) return client[transmit](command, args);
    const { string, buffer } = client.createBuiltinCommand(command);
    return (transmit === 'call' ? string : buffer).call(client, args);
  }

  #onReady(): void {
    for (let call = this.#first; call; call = call.next) call.deadlineAt = Infinity;
    for (const call of this.#held.splice(0)) {
      call.deadlineAt = Infinity;
      this.#start(call);
    }
  }

  /** ioredis emits `close` for each failed attempt to connect. The first one starts the time. */
  #onLost(): void {
    const deadlineAt = performance.now() + LIMIT_MS;
    for (let call = this.#first; call; call = call.next) {
      if (call.deadlineAt === Infinity) call.deadlineAt = deadlineAt;
    }
    this.#watch();
  }

  #watch(): void {
    if (this.#isWatching) return;
    const deadlineAt = this.#nextDeadlineAt();
    if (deadlineAt === Infinity) return;
    this.#isWatching = true;
    // After a blocked event loop, timers run first: a connection that is there still counts.
    const onTimer = (): void => void setImmediate(() => this.#expire());
    setTimeout(onTimer, Math.max(0, deadlineAt - performance.now())).unref();
  }

  #nextDeadlineAt(): number {
    let at = this.#held[0]?.deadlineAt ?? Infinity;
    for (let call = this.#first; call; call = call.next) at = Math.min(at, call.deadlineAt);
    return at;
  }

  #expire(): void {
    this.#isWatching = false;
    if (this.#client.status === 'ready') this.#onReady();
    const now = performance.now();
    const isOver = ({ deadlineAt }: Call): boolean => deadlineAt <= now;
    const expired: Call[] = [];
    for (let call = this.#first; call; call = call.next) if (isOver(call)) expired.push(call);
    for (const call of expired) call.deadlineAt = Infinity;
    expired.push(...this.#held.filter(isOver));
    this.#held = this.#held.filter((call) => !isOver(call));
    for (const call of expired) call.reject(this.#failure());
    this.#watch();
  }

  #failure(): Error {
    return RedisUnreachableError.of(this.#client) ?? new ClientClosedError();
  }

  /** ioredis may keep its calls for ever: after a `disconnect()` while it reconnects it tells nothing. */
  #onClosed(): void {
    const calls = this.#held.splice(0);
    for (let call = this.#first; call; call = call.next) calls.push(call);
    for (const call of calls) call.reject(new ClientClosedError());
  }
}

/** Sends a command that is not a script; bulk replies are strings. Rejects with a `failureOf`. */
export function callRedis(
  client: RedisConnection,
  command: string,
  args: CommandArgument[],
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    ClientCalls.of(client).send('call', command, args, resolve, reject);
  });
}

/** Sends a command that is not a script; bulk replies are Buffers. Rejects with a `failureOf`. */
export function callRedisBuffer(
  client: RedisConnection,
  command: string,
  args: CommandArgument[],
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    ClientCalls.of(client).send('callBuffer', command, args, resolve, reject);
  });
}

/** Sends several commands of one client together, as one call of it. Rejects with a `failureOf`. */
export function sendVia(client: RedisConnection, send: () => Promise<unknown>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    ClientCalls.of(client).send(send, '', [], resolve, reject);
  });
}
