import { isInTime } from '../waiting/acquire.js';
import type { Contender } from '../waiting/contender.js';
import { memberOf } from '../waiting/turn.js';
import type { MultiGrant, MultiTerms } from './multi-turn.js';

/**
 * Takes all locks if they are free, else none. Those who wait for a free one may be dead; then nobody but us can take them
 * out of the queue, and we ask again, once for each lock.
 */
export async function tryAll(contender: Contender, terms: MultiTerms): Promise<MultiGrant | null> {
  const { gate, leaseMs, isFair, isFenced } = terms;
  const member = memberOf(contender, contender.nextTurn(), terms);
  const mode = isFair ? 'try' : 'grab';
  const tokens: number[] = [];
  let startsAt = Infinity;
  let rechecked = -1;
  let touched = 0;
  try {
    while (tokens.length < gate.parts.length) {
      const start = tokens.length;
      const parts = gate.groupAt(start);
      touched = start + parts.length;
      const reply = await gate.take({ parts, member, leaseMs, mode, isFenced, held: 0 });
      if (reply?.outcome === 'held') {
        tokens.push(...reply.tokens);
        startsAt = Math.min(startsAt, reply.sentAt);
      } else if (reply) {
        touched = start;
        const blocked = start + reply.taken;
        if (reply.remainingMs >= 0 || blocked <= rechecked) break;
        rechecked = blocked;
        await gate.parts[blocked]!.gate.recheck([], 0);
      }
    }
  } catch (error) {
    // What failed may have been carried out all the same; without a connection it ends by itself.
    gate.release({ member, tokens: undefined }, isFair, touched).catch(() => undefined);
    throw error;
  }
  const grant = { member, fencingToken: Math.max(...tokens), startsAt, termMs: leaseMs, tokens };
  if (tokens.length === gate.parts.length && isInTime(grant)) return grant;
  if (touched > 0) await gate.release({ member, tokens: undefined }, isFair, touched);
  return null;
}
