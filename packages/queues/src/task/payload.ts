/**
 * Payloads as JSON. `JSON.stringify` changes in silence what JSON has no word for: NaN becomes null, a Map {}, a function in an object
 * is gone. A task that does something else than its caller has said is worse than an error, so such a payload is refused;
 * but a property that is undefined is left out, since that is what an optional field means. The value is walked once more
 * after it has become JSON: for a payload of five fields a fiftieth of the time of `JSON.stringify`. Rejected: a replacer,
 * which is called by `JSON.stringify` for each value and takes its fast path away.
 */
import { describeError } from '@mortise/redis';
import { InvalidPayloadError } from '../errors.js';
import { MAX_DEPTH } from '../options.js';

/** Throws ERR_INVALID_PAYLOAD for what `JSON.stringify` refuses, and for what it makes nothing of. */
export function stringifyPayload(name: string, payload: unknown): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(payload);
  } catch (error) {
    throw notJson(name, error);
  }
  if (json === undefined) throw new InvalidPayloadError(name, `is not JSON: ${typeof payload}`);
  return json;
}

/**
 * Throws ERR_INVALID_PAYLOAD for a payload that is nested deeper than MAX_DEPTH, and for one that its JSON does not tell
 * all of. To be called for what has become JSON of bounded size, which bounds the work as well.
 */
export function requireWhole(name: string, payload: unknown): void {
  let problem: string | undefined;
  try {
    problem = problemOf(payload, 0);
  } catch (error) {
    // A getter, or toJSON, which did not throw before.
    throw notJson(name, error);
  }
  if (problem !== undefined) throw new InvalidPayloadError(name, problem);
}

function notJson(name: string, error: unknown): InvalidPayloadError {
  return new InvalidPayloadError(name, `is not JSON: ${describeError(error).split('\n', 1)[0]}`);
}

/** What is wrong with a value; undefined for nothing. */
function problemOf(value: unknown, depth: number): string | undefined {
  if (typeof value === 'object') return value === null ? undefined : problemOfObject(value, depth);
  if (typeof value === 'number')
    return Number.isFinite(value) ? undefined : `has ${value}, which is not JSON`;
  const isNothing = typeof value === 'function' || typeof value === 'symbol';
  // Else text, true and false; a BigInt that somebody has taught toJSON; undefined, where it may be.
  return isNothing ? `has a ${typeof value}, which is not JSON` : undefined;
}

function problemOfObject(value: object, depth: number): string | undefined {
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON !== 'function') return problemOfMembers(value, depth);
  const json: unknown = toJSON.call(value, '');
  if (value instanceof Date && json === null) return 'has an invalid Date, which is not JSON';
  // What it returns is not asked for its own JSON again.
  return typeof json === 'object' && json !== null ? problemOfMembers(json, depth) : problemOf(json, depth);
}

function problemOfMembers(value: object, depth: number): string | undefined {
  if (depth === MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH}`;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const element: unknown = value[index];
      if (element === undefined) return 'has undefined in an array, which is not JSON';
      const problem = problemOf(element, depth + 1);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    const kind = Object.prototype.toString.call(value).slice('[object '.length, -1);
    if (BOXED.test(kind)) return problemOf(value.valueOf(), depth);
    if (isLost(value, kind)) return `has an instance of ${nameOf(value) ?? kind}, which is not JSON`;
  }
  for (const key in value) {
    const problem = problemOf((value as Record<string, unknown>)[key], depth + 1);
    // What is inherited is no part of it.
    if (problem !== undefined && Object.hasOwn(value, key)) return problem;
  }
  return undefined;
}

/** What is more than its properties; a number or a text in a box is what the box holds. */
const NOT_PROPERTIES =
  /^(?:Map|Set|WeakMap|WeakSet|WeakRef|Promise|Error|RegExp|\w*ArrayBuffer|DataView|\w+Array)$/;
const BOXED = /^(?:Number|String|Boolean)$/;

/** Of an instance without properties its JSON tells nothing; but for a plain object of another realm. */
function isLost(value: object, kind: string): boolean {
  if (NOT_PROPERTIES.test(kind)) return true;
  const isPlain = kind === 'Object' && Object.getPrototypeOf(Object.getPrototypeOf(value)) === null;
  return !isPlain && Object.keys(value).length === 0;
}

function nameOf(value: object): string | undefined {
  const { name } = (value.constructor ?? {}) as { name?: unknown };
  return typeof name === 'string' && name !== '' ? name : undefined;
}
