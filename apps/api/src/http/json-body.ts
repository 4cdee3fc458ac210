/**
 * The only parser of bodies. JSON.parse accepts any depth, but code that walks the value by recursion fails (JSON.stringify
 * at 5,000 levels). A key `__proto__` or half of a surrogate pair does harm once code merges or encodes it. So this parser
 * refuses such bodies.
 */
import { Problem } from '../problems/problem.js';

export const MAX_BODY_BYTES = 65_536;
export const MAX_DEPTH = 64;

const LONE_SURROGATE = /\p{Surrogate}/u;
/** Sixteen digits, or an exponent of three. */
const MAY_BE_INEXACT = /\d(?:\.?\d){15}|[eE]\+?\d{3}/;
/** The texts and the numbers of valid JSON. */
const TEXT_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The value of a JSON body. Throws the problem `malformed-json` or `invalid-body`. O(bytes), without recursion. */
export function parseJsonBody(body: Buffer): unknown {
  const { text, value } = parse(body);
  check(value);
  if (MAY_BE_INEXACT.test(text)) checkNumbers(text);
  return value;
}

function parse(body: Buffer): { text: string; value: unknown } {
  try {
    const text = utf8.decode(body);
    return { text, value: JSON.parse(text) };
  } catch {
    // The message of JSON.parse quotes the body; the problem only says that the body is not JSON.
    throw new Problem('malformed-json');
  }
}

function check(value: unknown): void {
  let level: unknown[] = [value];
  for (let depth = 1; level.length > 0; depth += 1) {
    const next: unknown[] = [];
    for (const item of level) {
      if (typeof item === 'string') checkText(item);
      if (typeof item !== 'object' || item === null) continue;
      if (depth > MAX_DEPTH)
        throw new Problem('invalid-body', `the body is nested more than ${MAX_DEPTH} levels`);
      if (!Array.isArray(item)) Object.keys(item).forEach(checkKey);
      next.push(...Object.values(item));
    }
    level = next;
  }
}

/** A number of JavaScript holds whole numbers up to 2^53, and none above 1.8e308: others would be stored as something else. */
function checkNumbers(text: string): void {
  for (const [token] of text.matchAll(TEXT_OR_NUMBER)) {
    if (token.startsWith('"')) continue;
    const value = Number(token);
    if (!Number.isFinite(value)) throw new Problem('invalid-body', 'a number is larger than 1.8e308');
    const { digits, exponent } = decimalOf(token);
    const stored = decimalOf(String(value));
    if (exponent >= 0 && (digits !== stored.digits || exponent !== stored.exponent))
      throw new Problem('invalid-body', 'a whole number beyond 2^53 would be rounded: send it as a text');
  }
}

/** A number as its digits, without zeros at the ends, times a power of ten. */
function decimalOf(token: string): { readonly digits: string; readonly exponent: number } {
  const [, whole = '', fraction = '', power = '0'] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(token)!;
  const digits = (whole + fraction).replace(/^0+/, '');
  const short = digits.replace(/0+$/, '');
  if (short === '') return { digits: '', exponent: 0 };
  return { digits: short, exponent: Number(power) - fraction.length + digits.length - short.length };
}

function checkKey(key: string): void {
  checkText(key);
  if (key === '__proto__' || key === 'constructor' || key === 'prototype') {
    throw new Problem('invalid-body', `the body has a key "${key}"`);
  }
}

function checkText(text: string): void {
  if (LONE_SURROGATE.test(text)) throw new Problem('invalid-body', 'a text has half of a surrogate pair');
}
