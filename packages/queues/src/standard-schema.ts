import type { PayloadIn } from './task-types.js';

/**
 * Version 1 of the Standard Schema interface (https://standardschema.dev), which zod, valibot, arktype and others
 * implement. Copied here to avoid a dependency.
 */
export interface StandardSchemaV1<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (
      value: unknown,
      // oxlint-disable-next-line typescript/no-explicit-any -- each library has its own options
      options?: any,
    ) => StandardResult<Output> | Promise<StandardResult<Output>>;
    /** For the compiler only. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Schemas of producers: the payload types of a queue are their inputs. */
export type InputSchemas<Tasks> = {
  // oxlint-disable-next-line typescript/no-explicit-any -- only the worker uses the output
  readonly [Name in keyof Tasks]?: StandardSchemaV1<PayloadIn<Tasks[Name]>, any>;
};

/** Schemas of workers: the payload types of handlers are their outputs. */
export type OutputSchemas<Tasks> = {
  // oxlint-disable-next-line typescript/no-explicit-any -- only the queue knows the input
  readonly [Name in keyof Tasks]?: StandardSchemaV1<any, PayloadIn<Tasks[Name]>>;
};
