/**
 * Checks payloads when they are enqueued and again when they are handled, by the schemas of both sides. The given payload
 * is stored, not the output of the schema. So a schema that transforms (a text to a Date, a default for an absent field)
 * transforms once, at the worker, and the stored payload is the same with and without a schema of the producer. Rejected:
 * storing the output, which would then be the input of the worker's schema.
 *
 * A producer checks the payload after a round trip through JSON, as the worker will see it: a Date is a string then.
 */
import { ArgumentTypeError, requireObject } from '@mortise/redis';
import { InvalidPayloadError } from '../errors.js';
import { describeIssues, toIssues } from './payload-issue.js';
import type { StandardResult, StandardSchemaV1 } from '../standard-schema.js';

export class Schemas {
  readonly #schemas: ReadonlyMap<string, StandardSchemaV1>;

  /** Throws TypeError for a value that is not a Standard Schema. */
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
   * Throws ERR_INVALID_PAYLOAD if the schema of this name refuses the payload, or the schema's own error. Returns a promise
   * only for an asynchronous schema, so that other calls keep their order.
   */
  check(name: string, json: string): Promise<void> | undefined {
    if (!this.#schemas.has(name)) return undefined;
    const result = this.#apply(name, json);
    if (!isPromise(result)) return void valueOf(name, result, undefined);
    const checking = result.then((ended) => void valueOf(name, ended, undefined));
    // Avoids an unhandled rejection; the caller that awaits the promise still gets it.
    checking.catch(() => undefined);
    return checking;
  }

  /** The output of the schema for the payload of a task. Rejects as `check` does. */
  async parse(name: string, json: string, taskId: string): Promise<unknown> {
    return valueOf(name, await this.#apply(name, json), taskId);
  }

  /** A name without a schema accepts everything. */
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
