/**
 * Payloads as JSON. `JSON.stringify` silently changes values that JSON cannot represent: NaN becomes null, a Map becomes
 * {}, a function in an object is dropped. Such a payload is refused, since a task with other data is worse than an error.
 * An undefined property is left out, as for an optional field. The value is walked again after `JSON.stringify`, which
 * takes a fiftieth of its time for five fields. Rejected: a replacer, which `JSON.stringify` calls for each value and which
 * turns off its fast path.
 */
import { describeError } from '@mortise/redis';
import { InvalidPayloadError } from '../errors.js';
import { MAX_DEPTH } from '../options.js';

/** Throws ERR_INVALID_PAYLOAD if `JSON.stringify` throws or returns undefined. */
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
 * Throws ERR_INVALID_PAYLOAD for a payload nested deeper than MAX_DEPTH, and for one that its JSON does not represent
 * fully. Call it after a check of the JSON's size, which also bounds the work.
 */
export function requireWhole(name: string, payload: unknown): void {
  let problem: string | undefined;
  try {
    problem = problemOf(payload, 0);
  } catch (error) {
    // A getter or toJSON that did not throw before.
    throw notJson(name, error);
  }
  if (problem !== undefined) throw new InvalidPayloadError(name, problem);
}

function notJson(name: string, error: unknown): InvalidPayloadError {
  return new InvalidPayloadError(name, `is not JSON: ${describeError(error).split('\n', 1)[0]}`);
}

/** The problem of a value; undefined without one. */
function problemOf(value: unknown, depth: number): string | undefined {
  if (typeof value === 'object') return value === null ? undefined : problemOfObject(value, depth);
  if (typeof value === 'number')
    return Number.isFinite(value) ? undefined : `has ${value}, which is not JSON`;
  const isNothing = typeof value === 'function' || typeof value === 'symbol';
  // Strings and booleans; a BigInt with toJSON; undefined, where it is allowed.
  return isNothing ? `has a ${typeof value}, which is not JSON` : undefined;
}

function problemOfObject(value: object, depth: number): string | undefined {
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON !== 'function') return problemOfMembers(value, depth);
  const json: unknown = toJSON.call(value, '');
  if (value instanceof Date && json === null) return 'has an invalid Date, which is not JSON';
  // Like `JSON.stringify`, does not call toJSON of the returned value.
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
    if (losesContent(value, kind)) return `has an instance of ${nameOf(value) ?? kind}, which is not JSON`;
  }
  for (const key in value) {
    const problem = problemOf((value as Record<string, unknown>)[key], depth + 1);
    // Inherited properties are not in the JSON.
    if (problem !== undefined && Object.hasOwn(value, key)) return problem;
  }
  return undefined;
}

/** Objects with content beyond their properties. A boxed number or string stands for its value. */
const NOT_PROPERTIES =
  /^(?:Map|Set|WeakMap|WeakSet|WeakRef|Promise|Error|RegExp|\w*ArrayBuffer|DataView|\w+Array)$/;
const BOXED = /^(?:Number|String|Boolean)$/;

/** Whether the JSON of an instance without properties loses its content. Plain objects of another realm are fine. */
function losesContent(value: object, kind: string): boolean {
  if (NOT_PROPERTIES.test(kind)) return true;
  const isPlain = kind === 'Object' && Object.getPrototypeOf(Object.getPrototypeOf(value)) === null;
  return !isPlain && Object.keys(value).length === 0;
}

function nameOf(value: object): string | undefined {
  const { name } = (value.constructor ?? {}) as { name?: unknown };
  return typeof name === 'string' && name !== '' ? name : undefined;
}
