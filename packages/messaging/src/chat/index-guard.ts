/**
 * Whoever comes into a chat is put into the member's index first, and into the chat then. An entry of the index that dangles
 * for a minute is cleaned away, so the second step has to follow within half of that; otherwise the first is done again.
 *
 * The limit stands on the clock of the chat's server, which is compared with that of the members' servers at first only: a
 * refusal tells what it shows, and what is refreshed after that is good for half a minute from there, whatever the clocks.
 */
import type { Indexed } from '../member/member-index.js';

/** How long an entry of the index is good for, at least; half of what it takes to be cleaned away. */
const GOOD_FOR_MS = 30_000;
/** More than two only happen where a script takes half a minute to arrive. */
const MOST_TRIES = 5;

/** What the second step came to: `now`, on the clock of the chat's server, when it was too late. */
export type Outcome<Result> = { readonly result: Result } | { readonly tooLateAt: number };

/**
 * @param enter The second step: has to refuse, changing nothing, when the time is after `notAfter`.
 */
export async function enterIndexed<Result>(
  index: () => Promise<Indexed[]>,
  enter: (indexed: readonly Indexed[], notAfter: number) => Promise<Outcome<Result>>,
): Promise<Result> {
  let refusedAt: number | undefined;
  for (let tries = 1; ; tries += 1) {
    const indexed = await index();
    const goodFrom = refusedAt ?? Math.min(...indexed.map(({ now }) => now));
    const outcome = await enter(indexed, goodFrom + GOOD_FOR_MS);
    if ('result' in outcome) return outcome.result;
    if (tries === MOST_TRIES)
      throw new Error('the script that follows the index took more than 30 s, repeatedly');
    refusedAt = outcome.tooLateAt;
  }
}
