/**
 * A Lua script with named keys and arguments. Its text lies in a `.lua` file beside the class that runs it; the
 * header of that file is checked against its body and becomes the definition given here (`npm run scripts`).
 *
 * EVALSHA and not Redis Functions: a library of functions has to be loaded on every master by whoever operates the
 * server, and rolling deploys would need versioned libraries. CPU per call is equal (7.7 against 8.0 µs).
 */
import { createHash } from 'node:crypto';
import type { CommandArgument, RedisConnection } from './client.js';

/** What the header of a `.lua` file says. */
export interface ScriptDefinition {
  readonly name: string;
  readonly isReadOnly: boolean;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** Name of the keys behind the fixed ones, if the script takes any number of them. */
  readonly restKey?: string;
  /** Name of the arguments behind the fixed ones. */
  readonly restArg?: string;
  readonly source: string;
}

type Named<Names extends readonly string[], Rest, Value> = Readonly<Record<Names[number], Value>> &
  (Rest extends string ? Readonly<Record<Rest, readonly Value[]>> : unknown);

/** The keys that a script takes, by name. */
export type ScriptKeys<D extends ScriptDefinition> = Named<
  D['keys'],
  D extends { restKey: infer Rest } ? Rest : undefined,
  string
>;

/** The arguments that a script takes, by name. */
export type ScriptArgs<D extends ScriptDefinition> = Named<
  D['args'],
  D extends { restArg: infer Rest } ? Rest : undefined,
  CommandArgument
>;

/** One script, made once at the top of a module: it has its definition and the hash of its text, and holds calls back for a moment when a server lacks it. */
export class Script<const D extends ScriptDefinition = ScriptDefinition> {
  readonly sha1: string;
  /** By client and entity, who is to be told that its call may be sent. Empty but for a moment after NOSCRIPT. */
  readonly #held = new Map<RedisConnection, Map<CommandArgument, (() => void)[]>>();

  constructor(readonly definition: D) {
    this.sha1 = createHash('sha1').update(definition.source).digest('hex');
  }

  /**
   * Runs the script; bulk replies are strings. One round trip; two when the server does not know the script yet
   * (after a restart, a failover or SCRIPT FLUSH). Atomic. A script without writes goes through EVALSHA_RO: Redis
   * refuses a write in it, and a cluster client may send it to a replica. Errors of ioredis and of Redis pass through.
   *
   * Calls of one script that writes are executed in the order in which one client sends them (a Cluster client: those with the same first
   * key), also where the server does not know the script: later ones then wait for a round trip. They are not where another client
   * lets the server know it at that very moment, and not across a failover or a slot that moves. Between two scripts there is no
   * order, nor between `run` and `runWhole`, unless one is awaited before the other.
   */
  run(client: RedisConnection, keys: ScriptKeys<D>, args: ScriptArgs<D>): Promise<unknown> {
    return this.#evaluate(client, 'call', keys, args);
  }

  /** As `run`, with bulk replies as Buffers: for payloads and binary ids. */
  runBuffer(client: RedisConnection, keys: ScriptKeys<D>, args: ScriptArgs<D>): Promise<unknown> {
    return this.#evaluate(client, 'callBuffer', keys, args);
  }

  /**
   * As `run`, with the text of the script: one round trip whether or not the server knows it. What a caller does that ends the
   * process right after this is called has been preceded by the script. The server hashes the text each time.
   */
  async runWhole(client: RedisConnection, keys: ScriptKeys<D>, args: ScriptArgs<D>): Promise<unknown> {
    const { source, isReadOnly } = this.definition;
    return send(client, 'call', isReadOnly ? 'eval_ro' : 'eval', [source, ...this.#operands(keys, args)]);
  }

  async #evaluate(
    client: RedisConnection,
    call: 'call' | 'callBuffer',
    keys: ScriptKeys<D>,
    args: ScriptArgs<D>,
  ): Promise<unknown> {
    const { source, isReadOnly } = this.definition;
    const rest = this.#operands(keys, args);
    const suffix = isReadOnly ? '_ro' : '';
    const earlier = this.#held.size > 0 && this.#released(client, rest);
    if (earlier) await earlier;
    try {
      return await send(client, call, `evalsha${suffix}`, [this.sha1, ...rest]);
    } catch (error) {
      // Nothing has been run yet, so the second call is no repetition.
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      const whole = send(client, call, `eval${suffix}`, [source, ...rest]);
      return await (isReadOnly ? whole : this.#holdUntil(whole, client, rest));
    }
  }

  /** When calls before this one have been sent again, if some may have to be. */
  #released(client: RedisConnection, operands: readonly CommandArgument[]): Promise<void> | undefined {
    const waiting = this.#held.get(client)?.get(entityOf(client, operands));
    return waiting && new Promise((resolve) => void waiting.push(resolve));
  }

  /**
   * What was sent between a call and its NOSCRIPT gets that reply as well, and is sent again behind it. All that has been by the time
   * of the reply to the first text; what is new waits for that, since it would overtake them.
   */
  async #holdUntil(
    whole: Promise<unknown>,
    client: RedisConnection,
    operands: readonly CommandArgument[],
  ): Promise<unknown> {
    const entity = entityOf(client, operands);
    const ofClient = this.#held.get(client) ?? new Map<CommandArgument, (() => void)[]>();
    if (ofClient.has(entity)) return whole;
    const waiting: (() => void)[] = [];
    this.#held.set(client, ofClient.set(entity, waiting));
    try {
      return await whole;
    } finally {
      while (waiting.length > 0) {
        for (const release of waiting.splice(0)) release();
        // They send, before what is called meanwhile may.
        await Promise.resolve();
      }
      ofClient.delete(entity);
      if (ofClient.size === 0) this.#held.delete(client);
    }
  }

  #operands(keys: ScriptKeys<D>, args: ScriptArgs<D>): CommandArgument[] {
    const { definition } = this;
    const operands: CommandArgument[] = [0];
    for (const name of definition.keys) operands.push(this.#operand(keys, name));
    for (const key of this.#rest(keys, definition.restKey)) operands.push(key);
    operands[0] = operands.length - 1;
    for (const name of definition.args) operands.push(this.#operand(args, name));
    for (const value of this.#rest(args, definition.restArg)) operands.push(value);
    return operands;
  }

  #operand(operands: object, name: string): CommandArgument {
    const value = (operands as Record<string, CommandArgument | undefined>)[name];
    // ioredis would send an empty string, which is another key or another number.
    if (value === undefined) throw new TypeError(`script ${this.definition.name}: ${name} is missing`);
    return value;
  }

  #rest(operands: object, name: string | undefined): readonly CommandArgument[] {
    return name === undefined ? [] : (this.#operand(operands, name) as unknown as readonly CommandArgument[]);
  }
}

/** What has an order of its own: all of a server, and of a Cluster each first key, so that no node waits for another. */
function entityOf(client: RedisConnection, operands: readonly CommandArgument[]): CommandArgument {
  return client.isCluster && operands[0] !== 0 ? operands[1]! : '';
}

type SendArguments = (this: RedisConnection, args: CommandArgument[]) => Promise<unknown>;

/** What ioredis makes of a command name: functions that send at once, never through its automatic pipelines. */
interface PipeliningClient extends RedisConnection {
  readonly options?: { readonly enableAutoPipelining?: boolean };
  createBuiltinCommand(command: string): Record<'string' | 'buffer', SendArguments>;
}

/**
 * With `enableAutoPipelining`, ioredis before 5.11 sends a script to the node of its hash instead of its keys, and all
 * versions fail scripts of a slot that moves (redis/ioredis#2109, #2075). Scripts are batched by the coalescer anyway.
 */
function send(
  client: RedisConnection,
  call: 'call' | 'callBuffer',
  command: string,
  args: CommandArgument[],
): Promise<unknown> {
  const pipelining = client as PipeliningClient;
  if (!pipelining.options?.enableAutoPipelining) return client[call](command, args);
  const { string, buffer } = pipelining.createBuiltinCommand(command);
  return (call === 'call' ? string : buffer).call(client, args);
}
