/** The operators of Lua, as compiled scripts call them. */
import { LuaError } from './lua-error.js';
import { general, toNumber } from './number-format.js';
import type { LuaFunction, LuaResult, LuaValue } from './table.js';
import { LuaTable } from './table.js';

export function typeOf(value: LuaValue): string {
  if (value === undefined) return 'nil';
  if (value instanceof LuaTable) return 'table';
  return typeof value;
}

/** As `%.14g`: how Lua writes a number. */
export const textOf = (value: number): string => general(value, 14);

function isTrue(value: LuaValue): boolean {
  return value !== undefined && value !== false;
}

function first(result: LuaResult): LuaValue {
  return Array.isArray(result) ? result[0] : result;
}

function all(result: LuaResult): LuaValue[] {
  return Array.isArray(result) ? result : [result];
}

function number(value: LuaValue): number {
  if (typeof value === 'number') return value;
  const converted = typeof value === 'string' ? toNumber(value) : undefined;
  if (converted === undefined)
    throw new LuaError(`attempt to perform arithmetic on a ${typeOf(value)} value`);
  return converted;
}

function modulo(left: LuaValue, right: LuaValue): number {
  const [a, b] = [number(left), number(right)];
  return a - Math.floor(a / b) * b;
}

function isLess(left: LuaValue, right: LuaValue): boolean {
  if (typeof left === 'number' && typeof right === 'number') return left < right;
  if (typeof left === 'string' && typeof right === 'string') return left < right;
  const [one, other] = [typeOf(left), typeOf(right)];
  throw new LuaError(
    one === other ? `attempt to compare two ${one} values` : `attempt to compare ${one} with ${other}`,
  );
}

function isAtMost(left: LuaValue, right: LuaValue): boolean {
  if (typeof left === 'number' && typeof right === 'number') return left <= right;
  return !isLess(right, left);
}

function concat(left: LuaValue, right: LuaValue): string {
  if (typeof left === 'string' && typeof right === 'string') return left + right;
  return joined(left) + joined(right);
}

function joined(value: LuaValue): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return textOf(value);
  throw new LuaError(`attempt to concatenate a ${typeOf(value)} value`);
}

function length(value: LuaValue): number {
  if (typeof value === 'string' || value instanceof LuaTable) return value.length;
  throw new LuaError(`attempt to get length of a ${typeOf(value)} value`);
}

function get(value: LuaValue, key: LuaValue): LuaValue {
  if (value instanceof LuaTable) return value.get(key);
  throw new LuaError(`attempt to index a ${typeOf(value)} value`);
}

function set(value: LuaValue, key: LuaValue, item: LuaValue): void {
  if (!(value instanceof LuaTable)) throw new LuaError(`attempt to index a ${typeOf(value)} value`);
  value.set(key, item);
}

export function callee(value: LuaValue): LuaFunction {
  if (typeof value !== 'function') throw new LuaError(`attempt to call a ${typeOf(value)} value`);
  return value;
}

function table(listed: LuaValue[], entries: readonly (readonly [LuaValue, LuaValue])[] = []): LuaTable {
  const made = new LuaTable(listed);
  for (const [key, value] of entries) made.set(key, value);
  return made;
}

/** The functions that `pairs` and `ipairs` return: a table is walked directly. */
export const NEXT: LuaFunction = (value, key) => (value as LuaTable).next(key);
export const NEXT_ITEM: LuaFunction = (value, index) => {
  const at = (index as number) + 1;
  const item = (value as LuaTable).get(at);
  return item === undefined ? undefined : [at, item];
};

function* items(value: LuaTable): Generator<LuaValue[]> {
  for (let at = 1; ; at += 1) {
    const item = value.get(at);
    if (item === undefined) return;
    yield [at, item];
  }
}

function* iterate(step: LuaValue, state: LuaValue, start: LuaValue): Generator<LuaValue[]> {
  if (step === NEXT && start === undefined) yield* (state as LuaTable).entries();
  else if (step === NEXT_ITEM) yield* items(state as LuaTable);
  else {
    const next = callee(step);
    for (let key = start; ;) {
      const values = all(next(state, key));
      key = values[0];
      if (key === undefined) return;
      yield values;
    }
  }
}

/** @param strings The library whose functions are the methods of strings. */
export function operators(strings: Readonly<Record<string, LuaFunction>>): object {
  return {
    isTrue,
    first,
    all,
    number,
    modulo,
    isLess,
    isGreater: (left: LuaValue, right: LuaValue) => isLess(right, left),
    isAtMost,
    isAtLeast: (left: LuaValue, right: LuaValue) => isAtMost(right, left),
    concat,
    length,
    get,
    set,
    callee,
    table,
    iterate,
    and: (left: LuaValue, right: () => LuaValue) => (isTrue(left) ? right() : left),
    or: (left: LuaValue, right: () => LuaValue) => (isTrue(left) ? left : right()),
    method: (self: LuaValue, name: string, ...args: LuaValue[]) => {
      const own = typeof self === 'string' ? strings[name] : get(self, name);
      return callee(own)(self, ...args);
    },
  };
}
