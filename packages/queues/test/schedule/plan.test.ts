import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { ScheduleRule } from '@mortise/queues';
import { MISSED_AFTER_MS, MOST_AT_ONCE, planRun } from '../../src/schedule/plan.js';
import { nextInstant, resolveRule } from '../../src/schedule/rule.js';

const rule = (given: Partial<ScheduleRule>) => resolveRule('x', { everyMs: 1_000, ...given } as ScheduleRule);

describe('planRun', () => {
  test('fires the instant that is due, and the next one follows', () => {
    for (const missed of ['skip', 'once', 'all'] as const) {
      expect(planRun(rule({ missed }), 5_000, 0, 5_003)).toEqual({ fire: [5_000], nextAt: 6_000 });
    }
  });

  test('once fires for the first instant that was missed and drops the others', () => {
    expect(planRun(rule({}), 5_000, 0, 9_500)).toEqual({ fire: [5_000], nextAt: 10_000 });
    expect(planRun(rule({}), 5_000, 0, 5_000_000)).toEqual({ fire: [5_000], nextAt: 5_001_000 });
  });

  test('once makes the same task whenever another worker takes over', () => {
    const first = planRun(rule({}), 5_000, 0, 9_500).fire;
    expect(planRun(rule({}), 5_000, 0, 14_700).fire).toEqual(first);
  });

  test('skip drops an instant that is more than a minute late', () => {
    const skip = rule({ missed: 'skip' });
    const late = 5_000 + MISSED_AFTER_MS;
    expect(planRun(skip, 5_000, 0, late)).toEqual({ fire: [5_000], nextAt: late + 1_000 });
    expect(planRun(skip, 5_000, 0, late + 1)).toEqual({ fire: [], nextAt: late + 1_000 });
  });

  test('all fires for every instant, so many at a time', () => {
    const all = rule({ missed: 'all' });
    expect(planRun(all, 5_000, 0, 7_500)).toEqual({ fire: [5_000, 6_000, 7_000], nextAt: 8_000 });
    const much = planRun(all, 5_000, 0, 5_000_000);
    expect(much.fire).toHaveLength(MOST_AT_ONCE);
    expect(much.nextAt).toBe(5_000 + MOST_AT_ONCE * 1_000);
  });

  test('maxRuns ends it, also in the middle of missed instants', () => {
    expect(planRun(rule({ maxRuns: 3 }), 5_000, 2, 5_000)).toEqual({ fire: [5_000], nextAt: undefined });
    expect(planRun(rule({ maxRuns: 3, missed: 'all' }), 5_000, 1, 9_000)).toEqual({
      fire: [5_000, 6_000],
      nextAt: undefined,
    });
  });

  test('until ends it', () => {
    expect(planRun(rule({ until: 6_000 }), 5_000, 0, 5_000).nextAt).toBe(6_000);
    expect(planRun(rule({ until: 5_999 }), 5_000, 0, 5_000).nextAt).toBeUndefined();
  });

  test('overlap: skip drops the instant while the last task has not ended; it is no run', () => {
    const skip = rule({ overlap: 'skip', maxRuns: 1 });
    expect(planRun(skip, 5_000, 0, 5_001, true)).toEqual({ fire: [], nextAt: 6_000 });
    expect(planRun(skip, 5_000, 0, 5_001, false)).toEqual({ fire: [5_000], nextAt: undefined });
  });

  test('waits when the clock of the server was set back', () => {
    expect(planRun(rule({}), 5_000, 0, 4_000)).toEqual({ fire: [], nextAt: 5_000 });
  });

  test('all leaves out no instant and repeats none, however late and in however many pieces', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(400_000), { minLength: 1, maxLength: 20 }), (pauses) => {
        const all = rule({ missed: 'all' });
        const fired: number[] = [];
        let now = 10_000;
        let dueAt = 10_000;
        for (const pause of pauses) {
          now += pause;
          while (dueAt <= now) {
            const { fire, nextAt } = planRun(all, dueAt, fired.length, now);
            fired.push(...fire);
            dueAt = nextAt!;
          }
        }
        expect(fired).toEqual(fired.map((_, index) => 10_000 + 1_000 * index));
        expect(dueAt).toBe(nextInstant(all, now));
      }),
    );
  });
});
