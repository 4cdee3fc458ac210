/**
 * The score of a member in the set of a chat: the last id that they acked, and their role in its fraction. A hash of roles
 * would take 130 B for each chat, since each has an owner, and one more command for each `post`.
 */
import type { Role } from '../options.js';

const READER = 0.25;
const OWNER = 0.5;
const FRACTIONS: Readonly<Record<Role, number>> = { member: 0, reader: READER, owner: OWNER };

export const ROLES: readonly Role[] = ['owner', 'member', 'reader'];

/** The parts of a head: members of the set of a chat or mailbox, see `src/keys.ts`. */
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

/** The fraction that stands for a role. */
export function fractionOf(role: Role): number {
  return FRACTIONS[role];
}
