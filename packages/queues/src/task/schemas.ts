/**
 * Payloads are checked where they are enqueued and again where they are handled, by schemas of the same names. What is stored
 * is what was given, not what the schema makes of it: so a schema that transforms (a text to a Date, an absent field to
 * its default) transforms once, at the worker, and what lies in the queue looks the same whether or not its producer has
 * schemas. Rejected: to store the output, which the schema of the worker would be given as its input.
 *
 * A producer checks the payload as the worker will see it, after JSON: a Date is a string there, and what a schema would
 * refuse at the worker is refused at the caller.
 */
import { ArgumentTypeError, requireObject } from '@mortise/redis';
import { InvalidPayloadError } from '../errors.js';
import { describeIssues, toIssues } from './payload-issue.js';
import type { StandardResult, StandardSchemaV1 } from '../standard-schema.js';

export class Schemas {
  readonly #schemas: ReadonlyMap<string, StandardSchemaV1>;

  /** Throws TypeError for what is no Standard Schema. */
  constructor(schemas: Readonly<Record<string, StandardSchemaV1 | undefined>>) {
    requireObject('schemas', schemas);
    const entries = Object.entries(schemas).filter((entry) => entry[1] !== undefined);
    for (const [name, schema] of entries) {
      if (typeof schema?.['~standard']?.validate === 'function') continue;
      throw new ArgumentTypeError(`the schema of ${JSON.stringify(name)} must be a Standard Schema`);
    }
    this.#schemas = new Map(entries as [string, StandardSchemaV1][]);
  }

  /**
   * Throws ERR_INVALID_PAYLOAD for a payload that the schema of this name does not take, or what the schema throws. Returns a
   * promise that rejects instead only when the schema is asynchronous, so that calls keep their order otherwise.
   */
  check(name: string, json: string): Promise<void> | undefined {
    if (!this.#schemas.has(name)) return undefined;
    const result = this.#apply(name, json);
    if (!isPromise(result)) return void valueOf(name, result, undefined);
    const checking = result.then((ended) => void valueOf(name, ended, undefined));
    // Only the caller who awaits it gets the rejection.
    checking.catch(() => undefined);
    return checking;
  }

  /** What the schema of this name makes of the payload of a task. Rejects as `check` does. */
  async parse(name: string, json: string, taskId: string): Promise<unknown> {
    return valueOf(name, await this.#apply(name, json), taskId);
  }

  /** A name without a schema takes everything. */
  #apply(name: string, json: string): StandardResult<unknown> | Promise<StandardResult<unknown>> {
    const payload: unknown = JSON.parse(json);
    return this.#schemas.get(name)?.['~standard'].validate(payload) ?? { value: payload };
  }
}

function isPromise(result: object): result is Promise<unknown> {
  return 'then' in result;
}

function valueOf(name: string, result: StandardResult<unknown>, taskId: string | undefined): unknown {
  if (!result.issues) return result.value;
  const issues = toIssues(result.issues);
  throw new InvalidPayloadError(name, describeIssues(issues), { issues, taskId });
}
