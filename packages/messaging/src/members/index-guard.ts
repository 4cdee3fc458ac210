/**
 * A member enters a chat in two steps: first into their own index, then into the chat.
 *
 * Readers remove an index entry without a membership when it is a minute old, so the second step must follow within half of
 * that. `leave` removes an entry at once, and records that in the chat's slot: the second step of a slower join under that
 * entry is refused. After either refusal the first step is repeated.
 *
 * The limit is an instant of the chat's server. Only the first comparison is with the members' servers. A refusal contains
 * the time of the chat's server, and a refreshed entry is valid for half a minute from then.
 */
import type { Indexed } from './member-index.js';

/** How long an index entry is valid: half of the time after which readers remove it. */
const GOOD_FOR_MS = 30_000;
/** More than two happen only if a script takes half a minute to arrive. */
const MAX_TRIES = 5;

/** The result of the second step; or a refusal, with the time of the chat's server and the removed entry, 0 for none. */
export type Outcome<Result> =
  | { readonly result: Result }
  | { readonly tooLateAt: number; readonly leftAt: number };

/**
 * @param index The first step: gives every entry an instant of `notBefore` or later.
 * @param enter The second step: changes nothing after `notAfter`, or if the entry was removed before.
 */
export async function enterIndexed<Result>(
  index: (notBefore: number) => Promise<Indexed[]>,
  enter: (indexed: readonly Indexed[], notAfter: number) => Promise<Outcome<Result>>,
): Promise<Result> {
  let refusedAt: number | undefined;
  let notBefore = 0;
  for (let tries = 1; ; tries += 1) {
    const indexed = await index(notBefore);
    const goodFrom = refusedAt ?? Math.min(...indexed.map(({ now }) => now));
    const outcome = await enter(indexed, goodFrom + GOOD_FOR_MS);
    if ('result' in outcome) return outcome.result;
    if (tries === MAX_TRIES)
      throw new Error('the script that follows the index took more than 30 s, repeatedly');
    refusedAt = outcome.tooLateAt;
    notBefore = outcome.leftAt + 1;
  }
}
