/** The shape of a command, and how it reads its arguments. */
import type { Reply } from '../reply.js';
import { notAFloat, notAnInteger, syntaxError } from '../reply.js';
import type { Keyspace } from '../store/keyspace.js';
import { toNumber } from '../lua/number-format.js';

export interface Call {
  readonly store: Keyspace;
  /** Without the name of the command. */
  readonly args: readonly string[];
}

export interface Command {
  /** The least and most arguments. */
  readonly arity: readonly [least: number, most: number];
  readonly writes: boolean;
  readonly run: (call: Call) => Reply;
}

export type Commands = Readonly<Record<string, Command>>;

export const read = (least: number, most: number, run: Command['run']): Command => ({
  arity: [least, most],
  writes: false,
  run,
});
export const write = (least: number, most: number, run: Command['run']): Command => ({
  arity: [least, most],
  writes: true,
  run,
});

const WHOLE = /^(?:0|-?[1-9]\d*)$/;
const LIMIT = 2n ** 63n;

/** Whole numbers beyond 2^53 lose digits. */
export function integer(text: string | undefined): number {
  if (text === undefined) throw syntaxError();
  const isWhole = WHOLE.test(text);
  if (!isWhole) throw notAnInteger();
  const value = BigInt(text);
  if (value >= LIMIT || value < -LIMIT) throw notAnInteger();
  return Number(value);
}

export function float(text: string | undefined): number {
  const value = text === undefined || /^\s|\s$/.test(text) ? undefined : toNumber(text);
  if (value === undefined || Number.isNaN(value)) throw notAFloat();
  return value;
}

/** The elements from `first` to `last`, as in LRANGE: negative ones count from the end. */
export function bounds(first: number, last: number, size: number): [from: number, to: number] {
  const from = Math.max(0, first < 0 ? size + first : first);
  const to = Math.min(size, (last < 0 ? size + last : last) + 1);
  return [from, Math.max(from, to)];
}

/** As KEYS and SCAN match. */
export function globOf(pattern: string): RegExp {
  let source = '';
  for (let at = 0; at < pattern.length; at += 1) {
    const char = pattern[at]!;
    const close = char === '[' ? pattern.indexOf(']', at + 1) : -1;
    if (char === '*') source += '[^]*';
    else if (char === '?') source += '[^]';
    else if (close > 0) {
      source += `[${pattern.slice(at + 1, close).replaceAll('\\', '\\\\')}]`;
      at = close;
    } else {
      if (char === '\\' && at + 1 < pattern.length) at += 1;
      source += `\\x${pattern.codePointAt(at)!.toString(16).padStart(2, '0')}`;
    }
  }
  return new RegExp(`^${source}$`);
}

/** The options of a SCAN command. All elements come with the first call, which Redis may do too; so the next cursor is 0. */
export function scanFilter(options: readonly string[]): (element: string) => boolean {
  let pattern: RegExp | undefined;
  for (let at = 0; at < options.length; at += 2) {
    const name = options[at]!.toUpperCase();
    if (name === 'MATCH') pattern = globOf(options[at + 1] ?? '');
    else if (name !== 'COUNT') throw syntaxError();
  }
  return (element) => !pattern || pattern.test(element);
}
