/**
 * Values that pages watch, of each tenant. Redis announces no change of a lock or of a list, so one reader looks at each watched value, for
 * all who follow it, while somebody does. Rejected: announcements, which would charge each acquisition for a page that nobody looks at.
 */
import { Sampled } from '@mortise/redis';

import { currentTenant, inTenant } from '../tenants/tenancy.js';

interface Seen<Value> {
  readonly value: Value;
  /** Without the times that are left. */
  readonly text: string;
  /** When those times end, ms of this process. */
  readonly ends: readonly number[];
}

/** Members that count down. Their end is compared, so a renewal is a change. */
const COUNTDOWNS: ReadonlySet<string> = new Set(['remainingMs', 'resetAfterMs']);
/** Members that follow from the time and the others. */
const DERIVED: ReadonlySet<string> = new Set(['longestWaitMs', 'remaining']);
/** Replies of Redis are late by some ms, and never by the same. */
const SLACK_MS = 250;

export class Watched<Value> {
  /** By tenant and id. */
  readonly #watched = new Map<string, Sampled<Seen<Value>>>();
  readonly #everyMs: number;

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  /** The value of now for the tenant of the request, and each change, until the signal. @param read Runs for that tenant. */
  follow(id: string, signal: AbortSignal, read: () => Promise<Value>): AsyncIterable<Value> {
    for (const [key, { isFollowed }] of this.#watched) if (!isFollowed) this.#watched.delete(key);
    const tenant = currentTenant();
    const key = `${tenant}\n${id}`;
    const look = async (): Promise<Seen<Value>> => seenNow(await inTenant(tenant, read));
    const its = this.#watched.get(key) ?? new Sampled(look, this.#everyMs, isSame);
    this.#watched.set(key, its);
    const seen = its.follow(signal);
    return (async function* values(): AsyncGenerator<Value, void> {
      for await (const { value } of seen) yield value;
    })();
  }
}

/** For lists that come from scans, which have no order: the same list would differ. */
export function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}

function seenNow<Value>(value: Value): Seen<Value> {
  const now = performance.now();
  const ends: number[] = [];
  const text = JSON.stringify(value, (name, member: unknown) => {
    if (COUNTDOWNS.has(name)) ends.push((member as number) > 0 ? now + (member as number) : 0);
    return COUNTDOWNS.has(name) || DERIVED.has(name) ? undefined : member;
  });
  return { value, text, ends };
}

/** Equal texts have equally many ends. */
function isSame(a: Seen<unknown>, b: Seen<unknown>): boolean {
  return a.text === b.text && a.ends.every((end, index) => Math.abs(end - b.ends[index]!) < SLACK_MS);
}
