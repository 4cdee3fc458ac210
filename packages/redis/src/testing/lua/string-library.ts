/** The library `string` of Lua. */
import { LuaError } from './lua-error.js';
import { fixed, general } from './number-format.js';
import { numberArgument, textArgument } from './arguments.js';
import { callee } from './operators.js';
import { regExpOf } from './pattern.js';
import type { LuaFunction, LuaResult, LuaValue } from './table.js';
import { LuaTable } from './table.js';

/** Lua counts from 1, and negative positions from the end. */
function position(at: number, length: number): number {
  return at >= 0 ? at : Math.max(0, length + at + 1);
}

function sub(value: LuaValue, from: LuaValue, to: LuaValue = -1): string {
  const text = textArgument('sub', 1, value);
  const start = Math.max(1, position(numberArgument('sub', 2, from), text.length));
  return text.slice(start - 1, position(numberArgument('sub', 3, to), text.length));
}

function byte(value: LuaValue, from: LuaValue = 1, to: LuaValue = from): LuaResult {
  const text = textArgument('byte', 1, value);
  const start = Math.max(1, position(numberArgument('byte', 2, from), text.length));
  const codes = Array.from(
    text.slice(start - 1, position(numberArgument('byte', 3, to), text.length)),
    codeOf,
  );
  return codes.length === 1 ? codes[0] : codes;
}

function codeOf(char: string): number {
  return char.codePointAt(0)!;
}

/** The captures of a match, or all of it without captures. */
function captures(found: RegExpExecArray): LuaValue[] {
  return found.length > 1 ? found.slice(1) : [found[0]];
}

function search(
  name: string,
  value: LuaValue,
  pattern: LuaValue,
  from: LuaValue,
): RegExpExecArray | undefined {
  const text = textArgument(name, 1, value);
  const start = Math.max(0, position(numberArgument(name, 3, from), text.length) - 1);
  if (start > text.length) return undefined;
  const expression = regExpOf(textArgument(name, 2, pattern));
  expression.lastIndex = start;
  return expression.exec(text) ?? undefined;
}

function find(value: LuaValue, pattern: LuaValue, from: LuaValue = 1, isPlain: LuaValue = false): LuaResult {
  if (isPlain !== false) {
    const [text, part] = [textArgument('find', 1, value), textArgument('find', 2, pattern)];
    const start = Math.max(0, position(numberArgument('find', 3, from), text.length) - 1);
    const at = start > text.length ? -1 : text.indexOf(part, start);
    return at < 0 ? undefined : [at + 1, at + part.length];
  }
  const found = search('find', value, pattern, from);
  return found && [found.index + 1, found.index + found[0].length, ...found.slice(1)];
}

function match(value: LuaValue, pattern: LuaValue, from: LuaValue = 1): LuaResult {
  const found = search('match', value, pattern, from);
  return found && captures(found);
}

/** Each match after the last one; an empty match moves on by a character. */
function* matches(text: string, expression: RegExp): Generator<RegExpExecArray> {
  for (let at = 0; at <= text.length;) {
    expression.lastIndex = at;
    const found = expression.exec(text);
    if (!found) return;
    const end = found.index + found[0].length;
    yield found;
    at = end > found.index ? end : end + 1;
  }
}

function gmatch(value: LuaValue, pattern: LuaValue): LuaFunction {
  const found = matches(
    textArgument('gmatch', 1, value),
    regExpOf(textArgument('gmatch', 2, pattern), false),
  );
  return () => {
    const next = found.next();
    return next.done ? undefined : captures(next.value);
  };
}

function replacementOf(found: RegExpExecArray, by: LuaValue): string {
  const own = captures(found);
  let value: LuaValue;
  if (typeof by === 'string') {
    value = by.replaceAll(/%([^])/g, (_, char: string) => {
      if (!/\d/.test(char)) return char;
      return char === '0' ? found[0] : (own[Number(char) - 1] as string);
    });
  } else if (by instanceof LuaTable) value = by.get(own[0]);
  else {
    const result = callee(by)(...own);
    value = Array.isArray(result) ? result[0] : result;
  }
  if (value === undefined || value === false) return found[0];
  return textArgument('gsub', 3, value);
}

function gsub(value: LuaValue, pattern: LuaValue, by: LuaValue, limit: LuaValue = Infinity): LuaResult {
  const text = textArgument('gsub', 1, value);
  const expression = regExpOf(textArgument('gsub', 2, pattern));
  const most = expression.sticky ? Math.min(1, limit as number) : (limit as number);
  let result = '';
  let at = 0;
  let count = 0;
  for (const found of count < most ? matches(text, expression) : []) {
    result += text.slice(at, found.index) + replacementOf(found, by);
    at = found.index + found[0].length;
    count += 1;
    if (count >= most) break;
  }
  return [result + text.slice(at), count];
}

const SPECIFIER = /%(?:%|([-+ #0]*)(\d*)(?:\.(\d*))?([A-Za-z]))/g;

function format(template: LuaValue, ...args: LuaValue[]): string {
  let at = 0;
  return textArgument('format', 1, template).replaceAll(
    SPECIFIER,
    (whole, flags: string | undefined, width: string, precision: string | undefined, kind: string) => {
      if (flags === undefined) return '%';
      at += 1;
      const text = formatted(
        kind,
        args[at - 1],
        at + 1,
        precision === undefined ? undefined : Number(precision),
      );
      if (/[+ #]/.test(flags)) throw new LuaError(`the format ${whole} is not emulated`);
      if (flags.includes('-')) return text.padEnd(Number(width));
      return flags.includes('0') ? text.padStart(Number(width), '0') : text.padStart(Number(width));
    },
  );
}

function formatted(kind: string, value: LuaValue, index: number, precision: number | undefined): string {
  if (kind === 's') return textArgument('format', index, value).slice(0, precision);
  const number = numberArgument('format', index, value);
  switch (kind) {
    case 'd':
    case 'i':
      return BigInt(Math.trunc(number))
        .toString()
        .padStart(precision ?? 0, '0');
    case 'f':
      return fixed(number, precision ?? 6);
    case 'g':
      return general(number, precision ?? 6);
    case 'x':
      return Math.trunc(number).toString(16);
    case 'c':
      return String.fromCodePoint(number);
    default:
      throw new LuaError(`the format %${kind} is not emulated`);
  }
}

export const STRINGS: Readonly<Record<string, LuaFunction>> = {
  byte,
  char: (...codes) =>
    String.fromCodePoint(...codes.map((code, index) => numberArgument('char', index + 1, code))),
  find,
  format,
  gmatch,
  gsub,
  len: (value) => textArgument('len', 1, value).length,
  lower: (value) => textArgument('lower', 1, value).replaceAll(/[A-Z]+/g, (part) => part.toLowerCase()),
  match,
  rep: (value, times) => textArgument('rep', 1, value).repeat(Math.max(0, numberArgument('rep', 2, times))),
  reverse: (value) =>
    Array.from(textArgument('reverse', 1, value))
      .toReversed()
      .join(''),
  sub,
  upper: (value) => textArgument('upper', 1, value).replaceAll(/[a-z]+/g, (part) => part.toUpperCase()),
};
