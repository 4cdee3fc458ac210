import { expect, test } from '@jest/globals';
import { until } from '@mortise/test-kit';
import { Timetable } from '../src/waiting/timetable.js';

test('runs each entry once, when it is due, whatever the order of the entries', async () => {
  const timetable = new Timetable(1);
  const startedAt = performance.now();
  const ran = new Map<number, number>();
  for (const delay of [60, 20, 40, 20.5]) {
    timetable.set(() => ran.set(delay, performance.now() - startedAt), startedAt + delay);
  }
  await until('all entries', () => ran.size === 4);
  expect(new Set(ran.keys())).toEqual(new Set([20, 20.5, 40, 60]));
  for (const [delay, at] of ran) {
    expect(at).toBeGreaterThanOrEqual(delay - 1);
    expect(at).toBeLessThan(delay + 250);
  }
});

test('an entry that is set again moves, and one that is deleted does not run', async () => {
  const timetable = new Timetable(1);
  const now = performance.now();
  let moved = 0;
  let deleted = 0;
  let last = 0;
  const entry = (): void => void (moved = performance.now());
  const unwanted = (): void => void (deleted += 1);
  timetable.set(entry, now + 10);
  timetable.set(entry, now + 50);
  timetable.set(unwanted, now + 20);
  timetable.delete(unwanted);
  timetable.set(() => void (last = performance.now()), now + 60);
  await until('the last entry', () => last > 0);
  expect(moved).toBeGreaterThanOrEqual(now + 49);
  expect(deleted).toBe(0);
});

test('what is due a little later runs along', async () => {
  const timetable = new Timetable(1_000);
  const ran: string[] = [];
  const now = performance.now();
  timetable.set(() => ran.push('later'), now + 900);
  timetable.set(() => ran.push('soon'), now + 10);
  timetable.set(() => ran.push('much later'), now + 5_000);
  await until('an entry', () => ran.length > 0);
  expect(ran).toEqual(['later', 'soon']);
});

test('an entry may set itself again', async () => {
  const timetable = new Timetable(5);
  let runs = 0;
  const entry = (): void => {
    runs += 1;
    if (runs < 5) timetable.set(entry, 0);
  };
  timetable.set(entry, 0);
  await until('five runs', () => runs === 5);
  expect(runs).toBe(5);
});
