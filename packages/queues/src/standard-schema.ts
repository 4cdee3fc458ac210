/**
 * Version 1 of the Standard Schema interface (https://standardschema.dev), which zod, valibot, arktype and others have, written
 * out here so that none of them, nor a package of types, is a dependency.
 */
export interface StandardSchemaV1<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (
      value: unknown,
      // oxlint-disable-next-line typescript/no-explicit-any -- options are the library's own
      options?: any,
    ) => StandardResult<Output> | Promise<StandardResult<Output>>;
    /** For the compiler alone. */
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

/** Schemas of what is enqueued: the payload types of a queue are their inputs. */
export type InputSchemas<Tasks> = {
  // oxlint-disable-next-line typescript/no-explicit-any -- what the schema makes of it is the worker's concern
  readonly [Name in keyof Tasks]?: StandardSchemaV1<Tasks[Name], any>;
};

/** Schemas of what is handled: the payload types of handlers are their outputs. */
export type OutputSchemas<Tasks> = {
  // oxlint-disable-next-line typescript/no-explicit-any -- what was enqueued is the queue's concern
  readonly [Name in keyof Tasks]?: StandardSchemaV1<any, Tasks[Name]>;
};
