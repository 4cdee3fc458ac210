/**
 * The field of a single row in the HASH `rows`. It begins with when the row was loaded: 13 digits, ms of the server's clock,
 * or zeros for never. The head of its value (16 characters; zeros: none) and `everyMs` follow.
 */
export interface ScheduleState {
  readonly loadedAt: number;
  readonly head: string;
  readonly everyMs: number;
}

const HEAD_AT = 13;
const EVERY_AT = 29;

/** NaN and '' without a state. */
export function parseState(state: string): ScheduleState {
  return {
    loadedAt: Number(state.slice(0, HEAD_AT)),
    head: state.slice(HEAD_AT, EVERY_AT),
    everyMs: Number(state.slice(EVERY_AT)),
  };
}

/** @param loadedAt 13 digits. */
export function formatState(loadedAt: string, head: string, everyMs: number): string {
  return loadedAt + head + everyMs;
}
