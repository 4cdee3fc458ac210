/** The functions and libraries of Lua and Redis that scripts find, but `redis`. */
import { numberArgument, shown, tableArgument, textArgument } from './arguments.js';
import { LuaError } from './lua-error.js';
import { MESSAGE_PACK } from './message-pack.js';
import { toNumber } from './number-format.js';
import { callee, NEXT, NEXT_ITEM, typeOf } from './operators.js';
import { STRINGS } from './string-library.js';
import { STRUCT } from './struct.js';
import type { LuaFunction, LuaResult, LuaValue } from './table.js';
import { LuaTable } from './table.js';

function numbers(name: string, args: readonly LuaValue[]): number[] {
  if (args.length === 0) numberArgument(name, 1, undefined);
  return args.map((each, index) => numberArgument(name, index + 1, each));
}

const one =
  (name: string, compute: (value: number) => number): LuaFunction =>
  (value) =>
    compute(numberArgument(name, 1, value));

const MATHS: Readonly<Record<string, LuaFunction | number>> = {
  abs: one('abs', Math.abs),
  ceil: one('ceil', Math.ceil),
  exp: one('exp', Math.exp),
  floor: one('floor', Math.floor),
  fmod: (left, right) => numberArgument('fmod', 1, left) % numberArgument('fmod', 2, right),
  huge: Infinity,
  log: one('log', Math.log),
  log10: one('log10', Math.log10),
  max: (...args) => Math.max(...numbers('max', args)),
  min: (...args) => Math.min(...numbers('min', args)),
  pow: (base, power) => numberArgument('pow', 1, base) ** numberArgument('pow', 2, power),
  sqrt: one('sqrt', Math.sqrt),
};

function insert(list: LuaValue, ...args: LuaValue[]): undefined {
  const table = tableArgument('insert', 1, list);
  if (args.length === 1) table.set(table.length + 1, args[0]);
  else table.items.splice(numberArgument('insert', 2, args[0]) - 1, 0, args[1]);
}

function remove(list: LuaValue, at?: LuaValue): LuaResult {
  const table = tableArgument('remove', 1, list);
  if (table.length === 0) return undefined;
  return table.items.splice(at === undefined ? -1 : numberArgument('remove', 2, at) - 1, 1)[0];
}

function concat(list: LuaValue, separator: LuaValue = '', from: LuaValue = 1, to?: LuaValue): string {
  const table = tableArgument('concat', 1, list);
  const end = to === undefined ? table.length : numberArgument('concat', 4, to);
  const parts: string[] = [];
  for (let index = numberArgument('concat', 3, from); index <= end; index += 1) {
    const value = table.get(index);
    if (typeof value !== 'string' && typeof value !== 'number')
      throw new LuaError(`invalid value (${typeOf(value)}) at index ${index} in table for 'concat'`);
    parts.push(shown(value));
  }
  return parts.join(textArgument('concat', 2, separator));
}

function sort(list: LuaValue, precedes?: LuaValue): undefined {
  const { items } = tableArgument('sort', 1, list);
  const isBefore =
    precedes === undefined
      ? (left: LuaValue, right: LuaValue) => (left as string) < (right as string)
      : (left: LuaValue, right: LuaValue) => {
          const result = callee(precedes)(left, right);
          const value = Array.isArray(result) ? result[0] : result;
          return value !== undefined && value !== false;
        };
  items.sort((left, right) => {
    if (isBefore(left, right)) return -1;
    return isBefore(right, left) ? 1 : 0;
  });
}

function unpack(list: LuaValue, from: LuaValue = 1, to?: LuaValue): LuaValue[] {
  const table = tableArgument('unpack', 1, list);
  const end = to === undefined ? table.length : numberArgument('unpack', 3, to);
  const start = numberArgument('unpack', 2, from);
  if (end - start >= MOST_RESULTS) throw new LuaError('too many results to unpack');
  return Array.from({ length: Math.max(0, end - start + 1) }, (_, index) => table.get(start + index));
}

/** LUAI_MAXCSTACK: the stack of a function of C. */
const MOST_RESULTS = 8_000;

function convert(value: LuaValue, base: LuaValue = 10): LuaValue {
  if (base !== 10) {
    const text = textArgument('tonumber', 1, value).trim();
    const number = Number.parseInt(text, base as number);
    return Number.isNaN(number) ? undefined : number;
  }
  return typeof value === 'string' ? toNumber(value) : typeof value === 'number' ? value : undefined;
}

function protectedCall(called: LuaValue, ...args: LuaValue[]): LuaResult {
  try {
    const result = callee(called)(...args);
    return [true, ...(Array.isArray(result) ? result : [result])];
  } catch (error) {
    if (error instanceof LuaError) return [false, error.value as LuaValue];
    throw error;
  }
}

function raise(value: LuaValue): never {
  throw new LuaError(value instanceof LuaTable ? shown(value.get('err')) : shown(value), value);
}

export const FUNCTIONS: Readonly<Record<string, LuaFunction>> = {
  assert: (...args) => {
    if (args[0] === undefined || args[0] === false) raise(args[1] ?? 'assertion failed!');
    return args;
  },
  error: raise,
  ipairs: (list) => [NEXT_ITEM, tableArgument('ipairs', 1, list), 0],
  next: (table, key) => tableArgument('next', 1, table).next(key),
  pairs: (table) => [NEXT, tableArgument('pairs', 1, table), undefined],
  pcall: protectedCall,
  select: (index, ...args) => {
    if (index === '#') return args.length;
    const at = numberArgument('select', 1, index);
    return args.slice(at < 0 ? at : at - 1);
  },
  tonumber: convert,
  tostring: shown,
  type: (value) => typeOf(value),
  unpack,
};

export const LIBRARIES: Readonly<Record<string, Readonly<Record<string, LuaFunction | number>>>> = {
  cmsgpack: MESSAGE_PACK,
  math: MATHS,
  string: STRINGS,
  struct: STRUCT,
  table: { concat, insert, remove, sort },
};
