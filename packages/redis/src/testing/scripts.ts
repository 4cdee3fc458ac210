/** The scripts that a server knows, and how they call its commands. */
import { createHash } from 'node:crypto';
import { textArgument } from './lua/arguments.js';
import { LuaError } from './lua/lua-error.js';
import { LuaSyntaxError } from './lua/lexer.js';
import { general } from './lua/number-format.js';
import type { LuaProgram } from './lua/program.js';
import { luaProgram } from './lua/program.js';
import type { LuaFunction, LuaResult, LuaValue } from './lua/table.js';
import { LuaTable } from './lua/table.js';
import type { Reply } from './reply.js';
import { ReplyError, Status } from './reply.js';

interface KnownScript {
  readonly program: LuaProgram;
  readonly isReadOnly: boolean;
}

export type Execute = (command: string, args: readonly string[], isReadOnly: boolean) => Reply;

const SHEBANG = /^#!lua([^\n]*)\n/;

export class Scripts {
  readonly #known = new Map<string, KnownScript>();
  readonly #execute: Execute;
  /** Of the running script. */
  #isReadOnly = false;
  readonly #library: Readonly<Record<string, LuaFunction | number>>;

  constructor(execute: Execute) {
    this.#execute = execute;
    this.#library = {
      call: (...args) => this.#call(args, true),
      pcall: (...args) => this.#call(args, false),
      error_reply: (text) => single('err', text),
      status_reply: (text) => single('ok', text),
      sha1hex: (text) => sha1(textArgument('sha1hex', 1, text)),
      log: () => undefined,
      setresp: (version) => {
        if (version !== 2) throw new LuaError('redis.setresp(3) is not emulated');
        return undefined;
      },
      LOG_DEBUG: 0,
      LOG_VERBOSE: 1,
      LOG_NOTICE: 2,
      LOG_WARNING: 3,
    };
  }

  load(source: string): string {
    const hash = sha1(source);
    if (this.#known.has(hash)) return hash;
    const flags = SHEBANG.exec(source)?.[1] ?? '';
    try {
      const program = luaProgram(source.replace(SHEBANG, '\n'), this.#library);
      this.#known.set(hash, { program, isReadOnly: flags.includes('no-writes') });
    } catch (error) {
      if (error instanceof LuaSyntaxError)
        throw new ReplyError(`ERR Error compiling script (new function): user_script:${error.message}`);
      throw error;
    }
    return hash;
  }

  has(hash: string): boolean {
    return this.#known.has(hash.toLowerCase());
  }

  clear(): void {
    this.#known.clear();
  }

  /** @param operands The number of keys, the keys, the other arguments. */
  run(hash: string, operands: readonly string[], mayWrite: boolean): Reply {
    const script = this.#known.get(hash.toLowerCase());
    if (!script) throw new ReplyError('NOSCRIPT No matching script. Please use EVAL.');
    const count = Number(operands[0]);
    if (!Number.isInteger(count)) throw new ReplyError('ERR value is not an integer or out of range');
    if (count < 0 || count > operands.length - 1)
      throw new ReplyError("ERR Number of keys can't be greater than number of args");
    this.#isReadOnly = script.isReadOnly || !mayWrite;
    try {
      const keys = new LuaTable(operands.slice(1, 1 + count));
      const result = script.program(keys, new LuaTable(operands.slice(1 + count)));
      return toReply(Array.isArray(result) ? result[0] : result);
    } catch (error) {
      throw failure(error, hash);
    }
  }

  #call(args: readonly LuaValue[], raises: boolean): LuaResult {
    try {
      if (args.length === 0)
        throw new ReplyError('ERR Please specify at least one argument for this redis.call');
      const [command, ...operands] = args.map(operandOf);
      return toLua(this.#execute(command!.toLowerCase(), operands, this.#isReadOnly));
    } catch (error) {
      if (!(error instanceof ReplyError)) throw error;
      const value = single('err', error.message);
      if (raises) throw new LuaError(error.message, value);
      return value;
    }
  }
}

function sha1(text: string): string {
  return createHash('sha1').update(Buffer.from(text, 'latin1')).digest('hex');
}

function single(name: string, value: LuaValue): LuaTable {
  const table = new LuaTable();
  table.set(name, value);
  return table;
}

function operandOf(value: LuaValue): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return general(value, 17);
  throw new ReplyError('ERR Lua redis lib command arguments must be strings or integers');
}

function toLua(reply: Reply): LuaValue {
  if (reply === null) return false;
  if (typeof reply === 'number' || typeof reply === 'string') return reply;
  if (reply instanceof Status) return single('ok', reply.text);
  if (reply instanceof ReplyError) return single('err', reply.message);
  return new LuaTable(reply.map(toLua));
}

function toReply(value: LuaValue): Reply {
  if (typeof value === 'number') return Number.isFinite(value) ? Math.trunc(value) : Number.MIN_SAFE_INTEGER;
  if (typeof value === 'string') return value;
  if (value === true) return 1;
  if (!(value instanceof LuaTable)) return null;
  const error = value.get('err');
  if (typeof error === 'string') return new ReplyError(error);
  const status = value.get('ok');
  if (typeof status === 'string') return new Status(status);
  const end = value.items.indexOf(undefined);
  return value.items.slice(0, end < 0 ? undefined : end).map(toReply);
}

/** The error reply to a script that failed. */
function failure(error: unknown, hash: string): unknown {
  const where = `script: ${hash}, on @user_script:1.`;
  if (!(error instanceof LuaError)) {
    // A defect of the script that JavaScript found, such as endless recursion.
    if (error instanceof ReplyError || !(error instanceof Error)) return error;
    return new ReplyError(`ERR user_script:1: ${error.message} ${where}`);
  }
  if (error.value instanceof LuaTable) return new ReplyError(`${error.message} ${where}`);
  return new ReplyError(`ERR user_script:1: ${error.message} ${where}`);
}
