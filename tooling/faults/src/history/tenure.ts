import type { Acquisition, History, Release, Section } from './operation.js';

/** One lease from its request to its end, as its client saw it. */
export interface Tenure {
  readonly lease: string;
  readonly key: string;
  readonly isWriter: boolean;
  readonly permits: number;
  readonly fencingToken: number | undefined;
  readonly askedAt: number;
  readonly grantedAt: number;
  /** Its client believes in it from `grantedAt` until then; before `grantedAt` if it never did. */
  readonly reliedUntil: number;
  /** When it may be over for the server although nobody released it. Undefined: it was released before that. */
  readonly mayExpireFrom: number | undefined;
  /** Whether the server may have forgotten it: then two may believe themselves holders until its end. */
  readonly isForgettable: boolean;
  readonly release: Release | undefined;
}

/** The leases of a history by key, in the order of their fencing tokens, or of their grants where there are none. */
export function tenuresOf({ operations, losses = [] }: History): Map<string, Tenure[]> {
  const acquired: Acquisition[] = [];
  const releases = new Map<string, Release>();
  for (const operation of operations) {
    if (operation.op === 'acquire' && operation.outcome === 'acquired') acquired.push(operation);
    if (operation.op === 'release') releases.set(operation.lease, operation);
  }
  const byKey = new Map<string, Tenure[]>();
  for (const acquisition of acquired) {
    const tenure = tenureOf(acquisition, releases.get(acquisition.lease), losses);
    const tenures = byKey.get(tenure.key);
    if (tenures) tenures.push(tenure);
    else byKey.set(tenure.key, [tenure]);
  }
  for (const tenures of byKey.values()) {
    tenures.sort((a, b) => (a.fencingToken ?? a.grantedAt) - (b.fencingToken ?? b.grantedAt));
  }
  return byKey;
}

export function sectionsOf({ operations }: History): Section[] {
  return operations.filter((operation) => operation.op === 'section');
}

function tenureOf(
  { lease, key, mode, permits = 1, fencingToken, calledAt, returnedAt, validUntil = Infinity }: Acquisition,
  release: Release | undefined,
  losses: History['losses'] & object,
): Tenure {
  const grantedAt = returnedAt!;
  // Renewals may have moved the end, never forwards.
  const endsAt = Math.max(validUntil, release?.validUntil ?? 0);
  const reliedUntil = Math.min(endsAt, release?.calledAt ?? Infinity);
  // A loss takes what was granted before it was over, and what the server still knew when it began.
  const heldUntil = release?.outcome === 'released' ? release.returnedAt! : Infinity;
  const loss = losses.find(({ from, to }) => calledAt <= to && heldUntil >= from);
  const isReleased = release?.outcome === 'released' && !loss;
  const mayExpireFrom = isReleased ? undefined : Math.min(endsAt, Math.max(calledAt, loss?.from ?? Infinity));
  return {
    lease,
    key,
    isWriter: mode !== 'read',
    permits,
    fencingToken,
    askedAt: calledAt,
    grantedAt,
    reliedUntil,
    mayExpireFrom,
    isForgettable: loss !== undefined,
    release,
  };
}
