import { inspect } from 'node:util';
import type { MatcherContext, MatcherResult } from '@mortise/redis/testing';
import type { AddressBook } from '../index.js';

/** For `expect.extend(bookMatchers)` of jest and vitest. Await the assertion: it completes the text. */
export const bookMatchers = {
  /** Whether the completions of a text are the entries of these keys, in this order. */
  async toComplete(
    this: MatcherContext,
    book: Pick<AddressBook, 'complete'>,
    text: string,
    keys: readonly string[],
  ): Promise<MatcherResult> {
    const found = (await book.complete(text)).map(({ key }) => key);
    const pass = this.equals(found, [...keys]);
    const wanted = `${inspect(text)} ${pass ? 'not ' : ''}to be completed with ${inspect(keys)}`;
    return { pass, message: () => `expected ${wanted}, it is with ${inspect(found)}` };
  },
};

/** The types of `bookMatchers`, to merge into those of `expect`. */
export interface BookMatchers<Returned = Promise<void>> {
  toComplete(text: string, keys: readonly string[]): Returned;
}
