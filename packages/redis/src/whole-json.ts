/**
 * The JSON of a payload. `JSON.stringify` silently changes values that JSON cannot represent: NaN becomes null, a Map becomes {}, a
 * function in an object is dropped. Such a payload is refused, since other data is worse than an error. An undefined
 * property is left out, as for an optional field. `wholeJson` walks the value after `JSON.stringify`. For five fields, the walk
 * takes a fiftieth of the time of `JSON.stringify`. Rejected: a replacer. `JSON.stringify` calls it for each value, without its fast path.
 */
import { describeError } from './describe-error.js';

/** Maximum nesting of a payload. Most JSON parsers and cjson (1,000) accept more. */
const MAX_DEPTH = 128;

export interface JsonProblem {
  /** The predicate of a sentence: `has NaN, which is not JSON`. */
  readonly text: string;
  /** The size, if that is the problem. */
  readonly bytes?: number;
  /** MAX_DEPTH, if that is the problem. */
  readonly maxDepth?: number;
}

const TOO_DEEP: JsonProblem = { text: `is nested deeper than ${MAX_DEPTH}`, maxDepth: MAX_DEPTH };

/**
 * The JSON of a value, of at most `maxBytes`. Throws the error that `refuse` makes if JSON can't represent the value fully, or
 * if the value is nested too deep or too large. O(bytes).
 */
export function wholeJson(value: unknown, maxBytes: number, refuse: (problem: JsonProblem) => Error): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    throw refuse(isOutOfStack(error) ? TOO_DEEP : notJson(error));
  }
  if (json === undefined) throw refuse({ text: `is not JSON: ${typeof value}` });
  // A string of n characters has n to 3n bytes.
  if (json.length * 3 > maxBytes) {
    const bytes = Buffer.byteLength(json);
    if (bytes > maxBytes) throw refuse({ text: `has ${bytes} bytes, the limit is ${maxBytes}`, bytes });
  }
  let problem: JsonProblem | undefined;
  try {
    problem = problemOf(value, 0);
  } catch (error) {
    // A getter or toJSON that did not throw before.
    problem = notJson(error);
  }
  if (problem) throw refuse(problem);
  return json;
}

function isOutOfStack(error: unknown): boolean {
  return error instanceof RangeError && error.message.includes('call stack');
}

function notJson(error: unknown): JsonProblem {
  return { text: `is not JSON: ${describeError(error).split('\n', 1)[0]}` };
}

function has(what: string): JsonProblem {
  return { text: `has ${what}, which is not JSON` };
}

/** The problem of a value; undefined without one. */
function problemOf(value: unknown, depth: number): JsonProblem | undefined {
  if (typeof value === 'object') return value === null ? undefined : problemOfObject(value, depth);
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : has(`${value}`);
  const isNothing = typeof value === 'function' || typeof value === 'symbol';
  // Strings and booleans; a BigInt with toJSON; undefined, where it is allowed.
  return isNothing ? has(`a ${typeof value}`) : undefined;
}

function problemOfObject(value: object, depth: number): JsonProblem | undefined {
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON !== 'function') return problemOfMembers(value, depth);
  const json: unknown = toJSON.call(value, '');
  if (value instanceof Date && json === null) return has('an invalid Date');
  // Like `JSON.stringify`, does not call toJSON of the returned value.
  return typeof json === 'object' && json !== null ? problemOfMembers(json, depth) : problemOf(json, depth);
}

function problemOfMembers(value: object, depth: number): JsonProblem | undefined {
  if (depth === MAX_DEPTH) return TOO_DEEP;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const element: unknown = value[index];
      if (element === undefined) return has('undefined in an array');
      const problem = problemOf(element, depth + 1);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    const kind = Object.prototype.toString.call(value).slice('[object '.length, -1);
    if (BOXED.test(kind)) return problemOf(value.valueOf(), depth);
    if (losesContent(value, kind)) return has(`an instance of ${nameOf(value) ?? kind}`);
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
