/**
 * A Redis of one process: its keys, scripts and channels. It executes each command at once, as Redis does one after the other, and
 * runs the packages' own Lua. Commands that it doesn't have are refused by name.
 */
import type { Command } from './commands/command.js';
import { DATA_COMMANDS } from './commands/index.js';
import { integer } from './commands/command.js';
import type { ChannelKind, Listening } from './pub-sub.js';
import { PubSub } from './pub-sub.js';
import type { Reply } from './reply.js';
import { OK, ReplyError, Status } from './reply.js';
import { Scripts } from './scripts.js';
import { Keyspace } from './store/keyspace.js';

/** A connection. */
export interface Session extends Listening {
  readonly id: number;
  readonly address: string;
  name: string;
}

export type SeenCommand = (command: string, args: readonly string[], source: Session | 'lua') => void;

type ServerCommand = (args: readonly string[], session: Session) => Reply;

const VERSION = '7.4.0';
const INFO = `# Server\r\nredis_version:${VERSION}\r\nredis_mode:standalone\r\n# Memory\r\nused_memory:0\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n# Replication\r\nrole:master\r\nconnected_slaves:0\r\n`;
const MICROSECONDS = 1_000_000;
const MICROSECONDS_OF_MS = 1_000;
const STEP_MICROSECONDS = 20;

export class MemoryServer {
  readonly store = new Keyspace();
  readonly pubSub = new PubSub();
  /** Called before each command, also those of scripts. */
  readonly observers = new Set<SeenCommand>();
  readonly #now: () => number;
  readonly #scripts: Scripts;
  #micros = 0;
  #isTogether = false;
  #sessions = 0;
  readonly #commands = new Map<string, ServerCommand>(Object.entries(this.#serverCommands()));

  /** @param now The present instant, ms since the epoch with fractions. */
  constructor(now: () => number) {
    this.#now = now;
    this.#scripts = new Scripts((command, args, isReadOnly) => this.#fromScript(command, args, isReadOnly));
  }

  /** @param address As MONITOR shows it. */
  connect(onMessage: Listening['onMessage'], address = 'memory'): Session {
    this.#sessions += 1;
    return { id: this.#sessions, address, name: '', onMessage };
  }

  disconnect(session: Session): void {
    this.pubSub.forget(session);
  }

  /** Executes one command; its name in lower case. Throws ReplyError. */
  execute(session: Session, command: string, args: readonly string[]): Reply {
    if (!this.#isTogether) this.#setTime();
    for (const observe of this.observers) observe(command, args, session);
    const own = this.#commands.get(command);
    return own ? own(args, session) : this.#data(command, args);
  }

  /** Runs commands of one transaction: no key expires between them. */
  together<Result>(run: () => Result): Result {
    this.#setTime();
    this.#isTogether = true;
    try {
      return run();
    } finally {
      this.#isTogether = false;
    }
  }

  /** At an instant that stands still, each command is some µs later: scripts use them as an order, and as a coin. */
  #setTime(): void {
    const us = Math.floor(this.#now() * MICROSECONDS_OF_MS);
    const ms = Math.floor(us / MICROSECONDS_OF_MS);
    const isSame = ms === this.store.now;
    const micros = us % MICROSECONDS_OF_MS;
    const later = Math.min(MICROSECONDS_OF_MS - 1, this.#micros + STEP_MICROSECONDS);
    this.#micros = isSame && micros <= this.#micros ? later : micros;
    this.store.now = ms;
  }

  #data(name: string, args: readonly string[], isReadOnly = false): Reply {
    const command = DATA_COMMANDS.get(name);
    if (!command) throw new ReplyError(`ERR '${name}' is not emulated by the in-memory Redis of Mortise`);
    if (command.writes && isReadOnly)
      throw new ReplyError('ERR Write commands are not allowed from read-only scripts.');
    checkArity(name, command, args.length);
    return command.run({ store: this.store, args });
  }

  #fromScript(name: string, args: readonly string[], isReadOnly: boolean): Reply {
    for (const observe of this.observers) observe(name, args, 'lua');
    switch (name) {
      case 'time':
        return this.#timeReply();
      case 'publish':
      case 'spublish':
        return this.pubSub.publish(name === 'publish' ? 'plain' : 'shard', args[0]!, args[1]!);
      case 'pubsub':
        return this.#channels(args);
      case 'ping':
        return new Status('PONG');
      case 'echo':
        return args[0]!;
      default:
        return this.#data(name, args, isReadOnly);
    }
  }

  #timeReply(): Reply {
    const us = this.store.now * MICROSECONDS_OF_MS + this.#micros;
    return [String(Math.floor(us / MICROSECONDS)), String(us % MICROSECONDS)];
  }

  #channels([subject = '', ...names]: readonly string[]): Reply {
    switch (subject.toUpperCase()) {
      case 'NUMSUB':
        return names.flatMap((name) => [name, this.pubSub.count('plain', name)]);
      case 'SHARDNUMSUB':
        return names.flatMap((name) => [name, this.pubSub.count('shard', name)]);
      case 'CHANNELS':
        return this.pubSub.active('plain', names[0]);
      case 'SHARDCHANNELS':
        return this.pubSub.active('shard', names[0]);
      default:
        throw new ReplyError(`ERR PUBSUB ${subject} is not emulated`);
    }
  }

  #script([subject = '', ...rest]: readonly string[]): Reply {
    switch (subject.toUpperCase()) {
      case 'LOAD':
        return this.#scripts.load(rest[0]!);
      case 'EXISTS':
        return rest.map((hash) => (this.#scripts.has(hash) ? 1 : 0));
      case 'FLUSH':
        this.#scripts.clear();
        return OK;
      default:
        throw new ReplyError(`ERR SCRIPT ${subject} is not emulated`);
    }
  }

  #client([subject = '', ...rest]: readonly string[], session: Session): Reply {
    switch (subject.toUpperCase()) {
      case 'ID':
        return session.id;
      case 'SETNAME':
        session.name = rest[0]!;
        return OK;
      case 'GETNAME':
        return session.name === '' ? null : session.name;
      case 'SETINFO':
        return OK;
      default:
        throw new ReplyError(`ERR CLIENT ${subject} is not emulated`);
    }
  }

  #subscriptions(kind: ChannelKind, subscribes: boolean): ServerCommand {
    return (channels, session) => {
      const named = channels.length > 0 || subscribes ? channels : this.pubSub.channelsOf(session, kind);
      for (const channel of named) {
        if (subscribes) this.pubSub.subscribe(session, kind, channel);
        else this.pubSub.unsubscribe(session, kind, channel);
      }
      return this.pubSub.channelsOf(session, kind).length;
    };
  }

  #serverCommands(): Record<string, ServerCommand> {
    const run =
      (isText: boolean, mayWrite: boolean): ServerCommand =>
      ([script, ...operands]) =>
        this.#scripts.run(isText ? this.#scripts.load(script!) : script!, operands, mayWrite);
    return {
      client: (args, session) => this.#client(args, session),
      config: ([subject]) => {
        if (subject?.toUpperCase() === 'GET') return [];
        throw new ReplyError(`ERR CONFIG ${subject ?? ''} is not emulated`);
      },
      echo: ([text]) => text!,
      eval: run(true, true),
      eval_ro: run(true, false),
      evalsha: run(false, true),
      evalsha_ro: run(false, false),
      info: () => INFO,
      ping: ([text]) => text ?? new Status('PONG'),
      publish: ([channel, message]) => this.pubSub.publish('plain', channel!, message!),
      pubsub: (args) => this.#channels(args),
      script: (args) => this.#script(args),
      select: ([index]) => {
        if (integer(index) !== 0) throw new ReplyError('ERR DB index is out of range');
        return OK;
      },
      spublish: ([channel, message]) => this.pubSub.publish('shard', channel!, message!),
      ssubscribe: this.#subscriptions('shard', true),
      subscribe: this.#subscriptions('plain', true),
      sunsubscribe: this.#subscriptions('shard', false),
      time: () => this.#timeReply(),
      unsubscribe: this.#subscriptions('plain', false),
      // No replica will ever have it.
      wait: () => 0,
    };
  }
}

function checkArity(name: string, { arity: [least, most] }: Command, given: number): void {
  if (given < least || given > most)
    throw new ReplyError(`ERR wrong number of arguments for '${name}' command`);
}
