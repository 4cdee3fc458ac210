/** The arguments of `onSucceeded` and `onFailed` of a worker. */

/** An attempt that has ended. */
export interface EndedAttempt {
  readonly id: string;
  readonly queue: string;
  readonly name: string;
  /** The number of this attempt, from 1. */
  readonly attempt: number;
  readonly attempts: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** `result` is what the handler returned. It may be async; what it throws goes to `onError`. */
export type OnSucceeded = (task: EndedAttempt, result: unknown) => unknown;

/** `isFinal`: the task is dead now, otherwise it runs again. It may be async; what it throws goes to `onError`. */
export type OnFailed = (task: EndedAttempt, error: unknown, info: { readonly isFinal: boolean }) => unknown;
