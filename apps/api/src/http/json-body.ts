/**
 * The only parser of bodies. JSON.parse accepts any depth, but code that walks the value by recursion fails (JSON.stringify
 * at 5,000 levels). A key `__proto__` or half of a surrogate pair does harm once code merges or encodes it. So this parser
 * refuses such bodies.
 */
import { inexactNumber } from '@mortise/redis';

import { Problem } from '../problems/problem.js';

export const MAX_BODY_BYTES = 65_536;
export const MAX_DEPTH = 64;

const LONE_SURROGATE = /\p{Surrogate}/u;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The value of a JSON body. Throws the problem `malformed-json` or `invalid-body`. O(bytes), without recursion. */
export function parseJsonBody(body: Buffer): unknown {
  const { text, value } = parse(body);
  check(value);
  const problem = inexactNumber(text);
  if (problem !== undefined) throw new Problem('invalid-body', `the body ${problem}`);
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

function checkKey(key: string): void {
  checkText(key);
  if (key === '__proto__' || key === 'constructor' || key === 'prototype') {
    throw new Problem('invalid-body', `the body has a key "${key}"`);
  }
}

function checkText(text: string): void {
  if (LONE_SURROGATE.test(text)) throw new Problem('invalid-body', 'a text has half of a surrogate pair');
}
