/**
 * The score of a member in the set of a log: the id up to which they acked, and in its fraction what they may do. As a hash
 * of its own, roles would take 130 B for each chat, whose creator always has one, and each `post` a command more.
 */
import type { Role } from '../options.js';

const READER = 0.25;
const OWNER = 0.5;
const FRACTIONS: Readonly<Record<Role, number>> = { member: 0, reader: READER, owner: OWNER };

export const ROLES: readonly Role[] = ['owner', 'member', 'reader'];

/** Names of the parts of a head, in the set of the chat or mailbox. See `src/keys.ts`. */
export const HEAD = { bytes: '\0b', epoch: '\0e', lastId: '\0l', lastAt: '\0t' } as const;
/** The last id that the member acked. */
export function ackedIdOf(score: number | string): number {
  return Math.floor(Number(score));
}

export function roleOf(score: number | string): Role {
  const fraction = Number(score) % 1;
  if (fraction === OWNER) return 'owner';
  return fraction === READER ? 'reader' : 'member';
}

/** What is added to the cursor. */
export function fractionOf(role: Role): number {
  return FRACTIONS[role];
}
