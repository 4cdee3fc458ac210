import { describe, expect, test } from '@jest/globals';
import { Gathering } from '../src/rows/gathering.js';

interface Source {
  /** Rows that become due in a ms. */
  readonly perMs: number;
  /** Most rows of a batch. */
  readonly batch: number;
}

/** What one process sees of a table whose rows are due one after the other, on a clock of its own. */
function claimsOf({ perMs, batch }: Source): { sizes: number[]; lateMs: number[] } {
  const gathering = new Gathering();
  const claims: { sizes: number[]; lateMs: number[] } = { sizes: [], lateMs: [] };
  let [now, taken] = [0, 0];
  for (let claim = 0; claim < 1_000; claim += 1) {
    const rows = Math.min(batch, Math.floor(now * perMs) - taken);
    const lateMs = rows === 0 ? 0 : Math.floor(now - taken / perMs);
    taken += rows;
    gathering.claimed({ rows, isFull: rows === batch, lateMs }, now, true);
    claims.sizes.push(rows);
    claims.lateMs.push(lateMs);
    // The reply takes a ms, and nobody asks before a row is due.
    now = Math.max(now + 1, gathering.untilAt, (taken + 1) / perMs);
  }
  return claims;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

describe('rows that are due one after the other', () => {
  test('are claimed some 25 ms later, together', () => {
    const { sizes, lateMs } = claimsOf({ perMs: 2, batch: 250 });
    expect(mean(sizes)).toBeGreaterThan(45);
    expect(Math.max(...lateMs)).toBeLessThanOrEqual(30);
  });

  test('make full batches where a batch is a little less than what gathers, and wait no longer than twice as long', () => {
    const { sizes, lateMs } = claimsOf({ perMs: 10.5, batch: 250 });
    expect(mean(sizes)).toBeGreaterThan(245);
    expect(Math.max(...lateMs)).toBeLessThanOrEqual(55);
  });

  test('make full batches without a pause where there are far more', () => {
    const { sizes, lateMs } = claimsOf({ perMs: 100, batch: 250 });
    expect(mean(sizes)).toBeGreaterThan(245);
    expect(Math.max(...lateMs)).toBeLessThanOrEqual(80);
  });
});
