/** Messages between the worker and a thread of a sandbox. `run` tells the runs of one thread apart. */
import type { TaskContext } from '../work/attempt.js';
import type { ThrownFields } from './thrown.js';

/** Fields of the task that are sent with it. */
type TaskFields = Pick<TaskContext, 'id' | 'queue' | 'name' | 'attempt' | 'attempts' | 'headers'>;

/** Methods of the context that a thread calls by a message. */
export type ContextMethod = {
  [Key in keyof TaskContext]: TaskContext[Key] extends (...args: never[]) => unknown ? Key : never;
}[keyof TaskContext];

export interface ThreadData {
  /** URL of the module. */
  readonly module: string;
  readonly methods: readonly ContextMethod[];
}

export type ToThread =
  | { readonly type: 'run'; readonly run: number; readonly payload: unknown; readonly task: TaskFields }
  | { readonly type: 'abort'; readonly run: number; readonly reason: ThrownFields }
  /** The step of a call has to run. */
  | { readonly type: 'step'; readonly call: number }
  | { readonly type: 'answer'; readonly call: number; readonly value: unknown }
  | { readonly type: 'refusal'; readonly call: number; readonly error: ThrownFields };

export type FromThread =
  /** The function of a step can't be sent: it stays in the thread, which runs it on request and answers by `stepped`. */
  | {
      readonly type: 'call';
      readonly call: number;
      readonly method: ContextMethod;
      readonly args: readonly unknown[];
    }
  /** The step of a call has run. `json`: its result; undefined for undefined. `error`: it threw, or its result is no JSON. */
  | {
      readonly type: 'stepped';
      readonly call: number;
      readonly json?: string | undefined;
      readonly error?: ThrownFields;
    }
  /** `json` is the result as the worker stores it; undefined for undefined. */
  | { readonly type: 'returned'; readonly json: string | undefined }
  /** The handler has succeeded, but its result is not JSON. */
  | { readonly type: 'unkept'; readonly error: ThrownFields }
  /** `isBroken`: the module cannot be loaded, so the thread is useless. */
  | { readonly type: 'threw'; readonly error: ThrownFields; readonly isBroken: boolean };
