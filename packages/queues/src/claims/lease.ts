/**
 * What a claim gives out for a task: the token of the attempt, and the shard that the task lies in. It proves nothing
 * and can be guessed: it keeps apart attempts, not people.
 */
import { ArgumentTypeError } from '@mortise/redis';

export interface Lease {
  readonly shard: number;
  readonly token: number;
}

const LEASE = /^([0-9a-f]{1,2})-([0-9a-f]{1,8})$/;

export function writeLease({ shard, token }: Lease): string {
  return `${shard.toString(16)}-${token.toString(16)}`;
}

/** Throws TypeError for what no claim has given. */
export function readLease(text: unknown): Lease {
  const [, shard, token] = (typeof text === 'string' && LEASE.exec(text)) || [];
  if (shard === undefined || token === undefined)
    throw new ArgumentTypeError('lease must be one that a claim has given');
  return { shard: Number.parseInt(shard, 16), token: Number.parseInt(token, 16) };
}
