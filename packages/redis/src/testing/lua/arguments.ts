/** Arguments of the functions of Lua's libraries. */
import { LuaError } from './lua-error.js';
import { toNumber } from './number-format.js';
import { textOf, typeOf } from './operators.js';
import type { LuaValue } from './table.js';
import { LuaTable } from './table.js';

function bad(name: string, index: number, wanted: string, value: LuaValue): LuaError {
  const got = value === undefined ? 'no value' : typeOf(value);
  return new LuaError(`bad argument #${index} to '${name}' (${wanted} expected, got ${got})`);
}

export function textArgument(name: string, index: number, value: LuaValue): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return textOf(value);
  throw bad(name, index, 'string', value);
}

export function numberArgument(name: string, index: number, value: LuaValue): number {
  if (typeof value === 'number') return value;
  const number = typeof value === 'string' ? toNumber(value) : undefined;
  if (number === undefined) throw bad(name, index, 'number', value);
  return number;
}

export function tableArgument(name: string, index: number, value: LuaValue): LuaTable {
  if (value instanceof LuaTable) return value;
  throw bad(name, index, 'table', value);
}

/** As `tostring`. */
export function shown(value: LuaValue): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return textOf(value);
  if (typeof value === 'boolean') return String(value);
  return value === undefined ? 'nil' : typeOf(value);
}
