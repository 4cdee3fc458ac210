/** The parts of `expect.extend` that the matchers of the packages need, in jest and in vitest. */

/** `this` of a matcher. */
export interface MatcherContext {
  readonly isNot?: boolean | undefined;
  equals(left: unknown, right: unknown): boolean;
}

export interface MatcherResult {
  readonly pass: boolean;
  readonly message: () => string;
}
