/**
 * A Lua script with named keys and arguments. Its text lies in a `.lua` file beside the class that runs it. `npm run scripts`
 * checks the header of that file against its body, and makes the definition from it.
 *
 * Rejected: Redis Functions. An operator has to load a library on every master, and rolling deploys need versioned libraries.
 * The CPU per call is equal (7.7 against 8.0 µs).
 */
import { createHash } from 'node:crypto';
import { ArgumentTypeError } from './argument-error.js';
import type { CallKind } from './client-calls.js';
import { ClientCalls } from './client-calls.js';
import type { CommandArgument, RedisConnection } from './client.js';
import { mayBeTooOld, versionFailureOf } from './environment.js';

/** The content of a `.lua` file and of its header. */
export interface ScriptDefinition {
  readonly name: string;
  readonly isReadOnly: boolean;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** The name of the keys after the fixed ones, if the script takes any number of them. */
  readonly restKey?: string;
  /** The name of the arguments after the fixed ones, if the script takes any number of them. */
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

/** One script, made once at the top of a module. */
export class Script<const D extends ScriptDefinition = ScriptDefinition> {
  /** The source and its hash. */
  #hashed: readonly [string, string] | undefined;
  /** By client and entity: the call that sends the text after a NOSCRIPT, until it ends. */
  readonly #loading = new Map<RedisConnection, Map<CommandArgument, Promise<void>>>();

  constructor(readonly definition: D) {}

  /** The hash, computed at the first use: a program runs few of the scripts that it loads. */
  get sha1(): string {
    const { source } = this.definition;
    if (this.#hashed?.[0] !== source) {
      this.#hashed = [source, createHash('sha1').update(source).digest('hex')];
    }
    return this.#hashed[1];
  }

  /**
   * Runs the script, atomically; bulk replies are strings. One round trip; two when the server doesn't know the script (after a
   * restart, a failover or SCRIPT FLUSH). A script without writes is sent by EVALSHA_RO. Redis then refuses writes of the
   * script, and a cluster client may send it to a replica. Errors of ioredis and Redis pass through.
   *
   * Redis executes calls of a script that writes in the order in which one client sends them (on Cluster: calls with the same
   * first key). This holds also when the server doesn't know the script. There is no such order in three cases. Another client
   * sends the text at that very moment. A failover happens, or a slot moves. Or calls of two scripts, or of `run` and
   * `runWhole`, are not awaited.
   */
  run(client: RedisConnection, keys: ScriptKeys<D>, args: ScriptArgs<D>): Promise<unknown> {
    return this.#evaluate(client, 'call', keys, args);
  }

  /** Runs the script as `run` does; bulk replies are Buffers, for payloads and binary ids. */
  runBuffer(client: RedisConnection, keys: ScriptKeys<D>, args: ScriptArgs<D>): Promise<unknown> {
    return this.#evaluate(client, 'callBuffer', keys, args);
  }

  /**
   * Runs the script by its text: one round trip even when the server doesn't know the script. The command is sent before this
   * returns, so a caller may end the process next. The server hashes the text each time.
   */
  runWhole(client: RedisConnection, keys: ScriptKeys<D>, args: ScriptArgs<D>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#sendText(client, 'call', this.#operands(keys, args), resolve, reject);
      ClientCalls.of(client).flush();
    });
  }

  #evaluate(
    client: RedisConnection,
    kind: CallKind,
    keys: ScriptKeys<D>,
    args: ScriptArgs<D>,
  ): Promise<unknown> {
    // An error that the executor throws rejects the promise.
    return new Promise((resolve, reject) => {
      const operands = this.#operands(keys, args);
      const loading = this.#loading.size > 0 && this.#loading.get(client)?.get(entityOf(client, operands));
      if (!loading) this.#sendHash(client, kind, operands, resolve, reject);
      else void loading.then(() => this.#sendHash(client, kind, operands, resolve, reject));
    });
  }

  #sendHash(
    client: RedisConnection,
    kind: CallKind,
    operands: CommandArgument[],
    resolve: (reply: unknown) => void,
    reject: (error: unknown) => void,
  ): void {
    const onError = (error: unknown): void => {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) {
        rejectWith(client, error, reject);
      } else if (this.definition.isReadOnly) {
        this.#sendText(client, kind, operands, resolve, reject);
      } else {
        this.#teach(client, kind, operands, resolve, reject);
      }
    };
    const command = this.definition.isReadOnly ? 'evalsha_ro' : 'evalsha';
    ClientCalls.of(client).send(kind, command, [this.sha1, ...operands], resolve, onError);
  }

  /** Sends the text after a NOSCRIPT, with which the server has executed nothing: this repeats nothing. */
  #sendText(
    client: RedisConnection,
    kind: CallKind,
    operands: CommandArgument[],
    resolve: (reply: unknown) => void,
    reject: (error: unknown) => void,
  ): void {
    const { source, isReadOnly } = this.definition;
    const onError = (error: unknown): void => rejectWith(client, error, reject);
    ClientCalls.of(client).send(
      kind,
      isReadOnly ? 'eval_ro' : 'eval',
      [source, ...operands],
      resolve,
      onError,
    );
  }

  #teach(
    client: RedisConnection,
    kind: CallKind,
    operands: CommandArgument[],
    resolve: (reply: unknown) => void,
    reject: (error: unknown) => void,
  ): void {
    const whole = new Promise((onReply, onFailure) => {
      this.#sendText(client, kind, operands, onReply, onFailure);
    });
    void this.#delayCalls(client, entityOf(client, operands), whole);
    whole.then(resolve, reject);
  }

  /**
   * Delays new calls until the server has the text. Calls in flight at the first NOSCRIPT get that reply too. They send
   * their text in the same order, before the reply to the first text. A new call would overtake them.
   */
  async #delayCalls(
    client: RedisConnection,
    entity: CommandArgument,
    whole: Promise<unknown>,
  ): Promise<void> {
    const ofClient = this.#loading.get(client) ?? new Map<CommandArgument, Promise<void>>();
    if (ofClient.has(entity)) return;
    const loading = whole.then(ignore, ignore);
    this.#loading.set(client, ofClient.set(entity, loading));
    // The first await of this promise, so the delayed calls go out before calls that are made later.
    await loading;
    ofClient.delete(entity);
    if (ofClient.size === 0) this.#loading.delete(client);
  }

  #operands(keys: ScriptKeys<D>, args: ScriptArgs<D>): CommandArgument[] {
    const { definition } = this;
    const operands: CommandArgument[] = [0];
    for (const name of definition.keys) operands.push(this.#operand(keys, name));
    for (const key of this.#list(keys, definition.restKey)) operands.push(key);
    operands[0] = operands.length - 1;
    for (const name of definition.args) operands.push(this.#operand(args, name));
    for (const value of this.#list(args, definition.restArg)) operands.push(value);
    return operands;
  }

  #operand(operands: object, name: string): CommandArgument {
    const value = (operands as Record<string, CommandArgument | undefined>)[name];
    // ioredis would send an empty string, which is a different key or number.
    if (value === undefined)
      throw new ArgumentTypeError(`script ${this.definition.name}: ${name} is missing`);
    return value;
  }

  #list(operands: object, name: string | undefined): readonly CommandArgument[] {
    return name === undefined ? [] : (this.#operand(operands, name) as unknown as readonly CommandArgument[]);
  }
}

function rejectWith(client: RedisConnection, error: unknown, reject: (error: unknown) => void): void {
  if (error instanceof Error && mayBeTooOld(error)) void versionFailureOf(client, error).then(reject);
  else reject(error);
}

const ignore = (): void => undefined;

/**
 * Calls of one entity are ordered: all calls of a server; on Cluster the calls with one first key, so no node waits for
 * another.
 */
function entityOf(client: RedisConnection, operands: readonly CommandArgument[]): CommandArgument {
  return client.isCluster && operands[0] !== 0 ? operands[1]! : '';
}
