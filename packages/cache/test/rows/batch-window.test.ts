import { describe, expect, test } from '@jest/globals';
import { BatchWindow } from '../../src/rows/batch-window.js';

interface Source {
  /** Rows that become due in a ms. */
  readonly perMs: number;
  /** Most rows of a batch. */
  readonly batch: number;
}

/** The batches of one process from a table whose rows are due one after another, on a simulated clock. */
function leasesOf({ perMs, batch }: Source): { sizes: number[]; lateMs: number[] } {
  const window = new BatchWindow();
  const found: { sizes: number[]; lateMs: number[] } = { sizes: [], lateMs: [] };
  let [now, taken] = [0, 0];
  for (let round = 0; round < 1_000; round += 1) {
    const rows = Math.min(batch, Math.floor(now * perMs) - taken);
    const lateMs = rows === 0 ? 0 : Math.floor(now - taken / perMs);
    taken += rows;
    window.leased({ rows, isFull: rows === batch, lateMs }, now, true);
    found.sizes.push(rows);
    found.lateMs.push(lateMs);
    // The reply takes a ms, and there is no call before a row is due.
    now = Math.max(now + 1, window.endsAt, (taken + 1) / perMs);
  }
  return found;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

describe('rows that are due one after the other', () => {
  test('are claimed some 25 ms later, together', () => {
    const { sizes, lateMs } = leasesOf({ perMs: 2, batch: 250 });
    expect(mean(sizes)).toBeGreaterThan(45);
    expect(Math.max(...lateMs)).toBeLessThanOrEqual(30);
  });

  test('make full batches where a batch is a little less than what gathers, and wait no longer than twice as long', () => {
    const { sizes, lateMs } = leasesOf({ perMs: 10.5, batch: 250 });
    expect(mean(sizes)).toBeGreaterThan(245);
    expect(Math.max(...lateMs)).toBeLessThanOrEqual(55);
  });

  test('make full batches without a pause where there are far more', () => {
    const { sizes, lateMs } = leasesOf({ perMs: 100, batch: 250 });
    expect(mean(sizes)).toBeGreaterThan(245);
    expect(Math.max(...lateMs)).toBeLessThanOrEqual(80);
  });
});
