/**
 * The lease of a claimed task: the token of the attempt, and the shard of the task. It can be guessed: it distinguishes
 * attempts and authorizes nobody.
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

/** Throws TypeError for a text that `claim` cannot have returned. */
export function readLease(text: unknown): Lease {
  const [, shard, token] = (typeof text === 'string' && LEASE.exec(text)) || [];
  if (shard === undefined || token === undefined)
    throw new ArgumentTypeError('lease must be one that a claim has returned');
  return { shard: Number.parseInt(shard, 16), token: Number.parseInt(token, 16) };
}
