/** Acquisitions of contenders in several processes, from their own records: one clock, as they share a host. */
import { percentile } from '../../percentile.js';

/** One acquisition, on the monotonic clock of the host, ms. */
export interface Hold {
  readonly contender: number;
  readonly askedAt: number;
  readonly acquiredAt: number;
  /** Before the release was sent. */
  readonly releasedAt: number;
}

/** A wait that the end of the window cut. */
interface Wait {
  readonly contender: number;
  readonly waitedMs: number;
}

export interface ContendersReport {
  readonly holds: readonly Hold[];
  readonly waits: readonly Wait[];
}

/** The host's monotonic clock, the same in all its processes, ms. */
export function hostNow(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/**
 * Percentiles are of waits that ended; the maximum is also of those that the window cut. An over-grant is an
 * acquisition at a moment when as many as `limit` others still held.
 */
export function contention(
  reports: readonly ContendersReport[],
  { contenders, limit, seconds }: { contenders: number; limit: number; seconds: number },
): Record<string, number> {
  const holds = reports
    .flatMap((report) => report.holds)
    .toSorted((one, other) => one.acquiredAt - other.acquiredAt);
  const cut = reports.flatMap((report) => report.waits.map(({ waitedMs }) => waitedMs));
  const waits = holds.map(({ askedAt, acquiredAt }) => acquiredAt - askedAt);
  const shares = Array.from({ length: contenders }, () => 0);
  for (const { contender } of holds) shares[contender]! += 1;
  const meanHold =
    holds.reduce((sum, { acquiredAt, releasedAt }) => sum + releasedAt - acquiredAt, 0) / holds.length;
  const p99 = percentile(waits, 0.99);
  return {
    'hand-offs/s': handOffs(holds) / seconds,
    'wait p50 ms': percentile(waits, 0.5),
    'wait p99 ms': p99,
    'wait max ms': Math.max(...waits, ...cut),
    'p99 ÷ FIFO ideal': p99 / ((contenders * meanHold) / limit),
    'with none': shares.filter((share) => share === 0).length,
    'max ÷ min': Math.max(...shares) / Math.min(...shares),
    'over-grants': overGrants(holds, limit),
  };
}

function handOffs(holds: readonly Hold[]): number {
  return holds.filter(({ contender }, index) => index > 0 && contender !== holds[index - 1]!.contender)
    .length;
}

function overGrants(holds: readonly Hold[], limit: number): number {
  let current: Hold[] = [];
  let count = 0;
  for (const hold of holds) {
    current = current.filter(({ releasedAt }) => releasedAt > hold.acquiredAt);
    if (current.length >= limit) count += 1;
    current.push(hold);
  }
  return count;
}
