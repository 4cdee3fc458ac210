/** A script that can be run: its compiled text with the libraries. */
import type { KnownNames } from './parser.js';
import { compileLua } from './compiler.js';
import { FUNCTIONS, LIBRARIES } from './libraries.js';
import { operators } from './operators.js';
import { STRINGS } from './string-library.js';
import type { LuaFunction, LuaResult } from './table.js';
import type { LuaTable } from './table.js';

export type LuaProgram = (keys: LuaTable, args: LuaTable) => LuaResult;

type Make = (operators: object, libraries: object) => LuaProgram;

const OPERATORS = operators(STRINGS);
/** By source: tests make many servers, and run the same scripts on each. */
const made = new Map<string, Make>();

/**
 * Compiles a script, whose text has one character for each byte.
 *
 * @param redis The functions of the library `redis`. Throws LuaSyntaxError.
 */
export function luaProgram(
  source: string,
  redis: Readonly<Record<string, LuaFunction | number>>,
): LuaProgram {
  const libraries = { ...LIBRARIES, redis };
  let make = made.get(source);
  if (!make) {
    make = makerOf(source, libraries);
    made.set(source, make);
  }
  return make(OPERATORS, { ...FUNCTIONS, ...libraries });
}

function makerOf(source: string, libraries: Readonly<Record<string, object>>): Make {
  const known: KnownNames = {
    functions: new Set(Object.keys(FUNCTIONS)),
    libraries: Object.fromEntries(
      Object.entries(libraries).map(([name, members]) => [name, new Set(Object.keys(members))]),
    ),
  };
  // oxlint-disable-next-line typescript/no-implied-eval -- the compiler wrote it, of names, numbers and JSON
  return new Function('R', 'L', compileLua(source, known)) as Make;
}
