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

/** Called with the `result` that the handler returned. The function may be async; its errors go to `onError`. */
export type OnSucceeded = (task: EndedAttempt, result: unknown) => unknown;

/**
 * Called for a failed attempt. With `isFinal` the task is dead now; otherwise it runs again. The function may be async; its
 * errors go to `onError`.
 */
export type OnFailed = (task: EndedAttempt, error: unknown, info: { readonly isFinal: boolean }) => unknown;
