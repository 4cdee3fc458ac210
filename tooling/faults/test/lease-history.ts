import type { Operation, Release, Section } from '../src/history/operation.js';

export interface LeaseShape {
  /** When it was asked for and granted. */
  readonly granted: readonly [calledAt: number, returnedAt: number];
  readonly token?: number;
  readonly validUntil?: number;
  /** Without it the client was killed while it held the lock; without a return, while it released it. */
  readonly released?: readonly [calledAt: number, returnedAt: number | null, outcome?: Release['outcome']];
  readonly key?: string;
  readonly mode?: 'read' | 'write';
  readonly permits?: number;
  readonly section?: Pick<Section, 'outcome' | 'value'> & { isValid?: boolean; returnedAt?: null };
}

/** The operations of one lease, as a worker would have recorded them. */
export function leaseHistory(lease: string, shape: LeaseShape): Operation[] {
  const { granted, released, section, key = 'k', validUntil = 1_000_000, token, mode, permits } = shape;
  const operations: Operation[] = [
    {
      id: `${lease}/1`,
      op: 'acquire',
      key,
      lease,
      calledAt: granted[0],
      returnedAt: granted[1],
      outcome: 'acquired',
      validUntil,
      ...(token !== undefined && { fencingToken: token }),
      ...(mode !== undefined && { mode }),
      ...(permits !== undefined && { permits }),
    },
  ];
  if (section) {
    const { outcome, value, isValid = true, returnedAt = granted[1] + 1 } = section;
    operations.push({
      id: `${lease}/2`,
      op: 'section',
      key,
      lease,
      calledAt: granted[1],
      returnedAt,
      outcome,
      isValid,
      ...(value !== undefined && { value }),
    });
  }
  if (released) {
    const [calledAt, returnedAt, outcome = 'released'] = released;
    operations.push({
      id: `${lease}/3`,
      op: 'release',
      key,
      lease,
      calledAt,
      returnedAt,
      outcome,
      validUntil,
    });
  }
  return operations;
}
