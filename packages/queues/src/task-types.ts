/** Types of payloads and results, by the name of a task. For the compiler only. */

/** `{ payload, result }` and nothing else. */
type HasResult<Given> = [Given] extends [{ readonly payload: unknown; readonly result: unknown }]
  ? [keyof Given] extends ['payload' | 'result']
    ? true
    : false
  : false;

/** The payload of a value of the map. */
export type PayloadIn<Given> = HasResult<Given> extends true ? Given['payload' & keyof Given] : Given;

/** The result of a value of the map. */
export type ResultIn<Given> = HasResult<Given> extends true ? Given['result' & keyof Given] : unknown;

/** The type of the payload of a task. */
export type PayloadOf<Tasks, Name extends keyof Tasks> = PayloadIn<Tasks[Name]>;

/** The type of the result of a task; unknown unless the map of types has it. */
export type ResultOf<Tasks, Name extends keyof Tasks> = ResultIn<Tasks[Name]>;

/** The id of a task whose result has a type: a string for `result`, which resolves to that type. */
export type TaskId<Result> = string & { readonly __result?: Result };
