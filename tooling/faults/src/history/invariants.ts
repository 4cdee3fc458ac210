/**
 * Rules for every history that are cheap to check: O(n log n). The linearizability of a lock says that an order exists; users
 * rely on these rules.
 */
import type { Model } from './model.js';
import type { History, Section, Violation } from './operation.js';
import type { Tenure } from './tenure.js';

/** A later grant of a lock has a greater token. No token is given twice. */
export function* tokenOrder(key: string, tenures: readonly Tenure[]): Generator<Violation> {
  const byGrant = tenures.toSorted((a, b) => a.grantedAt - b.grantedAt);
  let next = 0;
  let greatest: Tenure | undefined;
  for (const tenure of tenures.toSorted((a, b) => a.askedAt - b.askedAt)) {
    for (let known = byGrant[next]; known && known.grantedAt < tenure.askedAt; known = byGrant[next]) {
      if ((known.fencingToken ?? 0) > (greatest?.fencingToken ?? 0)) greatest = known;
      next += 1;
    }
    if (greatest?.fencingToken === undefined || tenure.fencingToken === undefined) continue;
    if (tenure.fencingToken <= greatest.fencingToken) {
      yield {
        rule: 'token order',
        key,
        message: `${nameOf(tenure)} was asked for after ${nameOf(greatest)} had been granted`,
      };
    }
  }
  for (const [index, tenure] of tenures.entries()) {
    const before = tenures[index - 1];
    if (tenure.fencingToken !== undefined && before?.fencingToken === tenure.fencingToken) {
      yield {
        rule: 'token order',
        key,
        message: `${nameOf(tenure)} and ${nameOf(before)} have the same token`,
      };
    }
  }
}

/** At no moment do too many clients believe that they hold the lock. */
export function* validity<State>(
  key: string,
  tenures: readonly Tenure[],
  model: Model<State>,
): Generator<Violation> {
  const held = new Set<Tenure>();
  for (const tenure of tenures.toSorted((a, b) => a.grantedAt - b.grantedAt)) {
    const { grantedAt } = tenure;
    // From the instant at which the server may have forgotten the lease, it no longer counts.
    const until = Math.min(tenure.reliedUntil, tenure.mayExpireFrom ?? Infinity);
    if (until <= grantedAt) continue;
    for (const other of held) {
      if (Math.min(other.reliedUntil, other.mayExpireFrom ?? Infinity) <= grantedAt) held.delete(other);
    }
    held.add(tenure);
    if (!model.isTooMany(held)) continue;
    const names = Array.from(held, nameOf).join(' and ');
    yield { rule: 'validity', key, message: `at ${grantedAt}, these were valid at once: ${names}` };
  }
}

/**
 * The counter was raised once for each section that wrote it: no value is written twice, none is left out. Whoever
 * holds a valid lease is not refused by the resource, and a reader sees nobody write.
 */
export function* sections(
  key: string,
  ofKey: readonly Section[],
  tenures: readonly Tenure[],
): Generator<Violation> {
  const forgettable = new Set(tenures.filter(({ isForgettable }) => isForgettable).map(({ lease }) => lease));
  const writers = new Map<number, Section>();
  // A write without an answer may have been carried out.
  let unknown = 0;
  let greatest = 0;
  for (const section of ofKey) {
    const { outcome, value = 0, lease, isValid, returnedAt } = section;
    if (returnedAt === null) unknown += 1;
    else if (outcome === 'written') {
      const before = writers.get(value);
      if (before) {
        const message = `${before.lease} and ${lease} both wrote ${value}`;
        yield { rule: 'lost update', key, message };
      }
      writers.set(value, section);
      greatest = Math.max(greatest, value);
    } else if (isValid && !forgettable.has(lease) && (outcome === 'refused' || outcome === 'torn')) {
      const message = `the section of ${lease} was ${outcome} while its lease was valid`;
      yield { rule: outcome === 'torn' ? 'lost update' : 'fencing', key, message };
    }
  }
  const missing = greatest - writers.size;
  if (missing > unknown) {
    const message = `the counter is ${greatest} after ${writers.size} sections (and ${unknown} that were cut off)`;
    yield { rule: 'lost update', key, message };
  }
}

/** Calls with shorter waits test that giving up works. */
const LONG_WAIT_MS = 1_000;

/** Every call was answered, and no call that waited long enough waited in vain. */
export function* progress({ operations }: History, killedClients: ReadonlySet<string>): Generator<Violation> {
  for (const operation of operations) {
    const { id, op, key, returnedAt } = operation;
    const [client = ''] = id.split('/');
    if (returnedAt === null && !killedClients.has(client)) {
      yield { rule: 'progress', key, message: `${op} ${id} never returned` };
    } else if (
      op === 'acquire' &&
      operation.outcome === 'timeout' &&
      (operation.waitMs ?? Infinity) >= LONG_WAIT_MS
    ) {
      yield { rule: 'progress', key, message: `${op} ${id} waited ${operation.waitMs} ms in vain` };
    }
  }
}

function nameOf({ lease, fencingToken, grantedAt, reliedUntil }: Tenure): string {
  return `lease ${lease} (token ${fencingToken}, ${grantedAt} to ${reliedUntil})`;
}
