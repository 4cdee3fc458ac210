import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { ScheduleRule } from '@mortise/queues';
import { loadCron } from '../../src/schedule/cron.js';
import { MISSED_AFTER_MS, MOST_AT_ONCE, planRun } from '../../src/schedule/plan.js';
import { isSameTiming, nextInstant, resolveRule } from '../../src/schedule/rule.js';

await loadCron();

const at = (iso: string): number => Date.parse(iso);
const MINUTE_MS = 60_000;

/** The next instants after `from`, to the minute. */
function following(rule: ScheduleRule, from: string, count: number): string[] {
  const resolved = resolveRule('x', rule);
  const found: string[] = [];
  let after: number | undefined = at(from);
  while (found.length < count && (after = nextInstant(resolved, after)) !== undefined) {
    found.push(new Date(after).toISOString().slice(0, 16));
  }
  return found;
}

describe('cron', () => {
  test.each([
    ['every minute', '* * * * *', ['2026-11-20T12:01', '2026-11-20T12:02']],
    ['names and lists', '30 8 * jan,mar mon-fri', ['2027-01-01T08:30', '2027-01-04T08:30']],
    ['the last day of a month', '0 9 L * *', ['2026-11-30T09:00', '2026-12-31T09:00']],
    ['the second friday', '0 9 * * fri#2', ['2026-12-11T09:00', '2027-01-08T09:00']],
    ['the last friday', '0 9 * * 5L', ['2026-11-27T09:00', '2026-12-25T09:00']],
    ['the weekday nearest to the 15th', '0 9 15W * *', ['2026-12-15T09:00', '2027-01-15T09:00']],
    ['leap years', '0 0 29 2 *', ['2028-02-29T00:00', '2032-02-29T00:00']],
    ['day of month or day of week', '0 0 13 * 5', ['2026-11-27T00:00', '2026-12-04T00:00']],
    ['nicknames', '@monthly', ['2026-12-01T00:00', '2027-01-01T00:00']],
    ['any white space', '  0 \t 0\n* * 7 ', ['2026-11-22T00:00', '2026-11-29T00:00']],
  ])('%s: %s', (_, cron, expected) => {
    expect(following({ cron }, '2026-11-20T12:00:00Z', 2)).toEqual(expected);
  });

  test('a sixth field in front counts seconds', () => {
    const rule = resolveRule('x', { cron: '*/10 * * * * *' });
    expect(nextInstant(rule, at('2026-11-20T12:00:03.500Z'))).toBe(at('2026-11-20T12:00:10Z'));
    expect(nextInstant(rule, at('2026-11-20T12:00:10Z'))).toBe(at('2026-11-20T12:00:20Z'));
  });

  test('is read in UTC unless a time zone is named, wherever the process runs', () => {
    expect(following({ cron: '0 9 * * *' }, '2026-11-20T12:00Z', 1)).toEqual(['2026-11-21T09:00']);
    expect(following({ cron: '0 9 * * *', timezone: 'Asia/Kathmandu' }, '2026-11-20T12:00Z', 1)).toEqual([
      '2026-11-21T03:15',
    ]);
  });
});

describe('changes of daylight saving time', () => {
  // In Berlin clocks go from 02:00 to 03:00 on 29 March 2026 at 01:00Z, and from 03:00 to 02:00 on 25 October at 01:00Z. In New
  // York from 02:00 to 03:00 on 8 March at 07:00Z, and from 02:00 to 01:00 on 1 November at 06:00Z.
  test.each([
    [
      'a fixed time that is left out fires when the gap ends',
      'Europe/Berlin',
      '30 2 * * *',
      '2026-03-28T12:00Z',
      ['2026-03-29T01:00', '2026-03-30T00:30'],
    ],
    [
      'also when it is one of several',
      'Europe/Berlin',
      '30 2,14 * * *',
      '2026-03-28T20:00Z',
      ['2026-03-29T01:00', '2026-03-29T12:30', '2026-03-30T00:30'],
    ],
    [
      'and once when the end of the gap is one of them, too',
      'Europe/Berlin',
      '0 2,3 * * *',
      '2026-03-28T20:00Z',
      ['2026-03-29T01:00', '2026-03-30T00:00'],
    ],
    [
      'a fixed time that comes twice fires the first time',
      'Europe/Berlin',
      '30 2 * * *',
      '2026-10-24T12:00Z',
      ['2026-10-25T00:30', '2026-10-26T01:30'],
    ],
    [
      'every half hour goes on through the gap',
      'Europe/Berlin',
      '*/30 * * * *',
      '2026-03-29T00:20Z',
      ['2026-03-29T00:30', '2026-03-29T01:00', '2026-03-29T01:30'],
    ],
    [
      'and through the hour that comes twice',
      'Europe/Berlin',
      '*/30 * * * *',
      '2026-10-25T00:20Z',
      ['2026-10-25T00:30', '2026-10-25T01:00', '2026-10-25T01:30', '2026-10-25T02:00'],
    ],
    [
      'a gap in New York',
      'America/New_York',
      '30 2 * * *',
      '2026-03-07T12:00Z',
      ['2026-03-08T07:00', '2026-03-09T06:30'],
    ],
    [
      'an hour that comes twice in New York',
      'America/New_York',
      '30 1 * * *',
      '2026-10-31T12:00Z',
      ['2026-11-01T05:30', '2026-11-02T06:30'],
    ],
    [
      'steps run through both hours',
      'America/New_York',
      '*/30 1 * * *',
      '2026-10-31T12:00Z',
      ['2026-11-01T05:00', '2026-11-01T05:30', '2026-11-01T06:00', '2026-11-01T06:30', '2026-11-02T06:00'],
    ],
    [
      'midnight that does not exist',
      'America/Sao_Paulo',
      '0 0 * * *',
      '2018-11-03T12:00Z',
      ['2018-11-04T03:00', '2018-11-05T02:00'],
    ],
    [
      'a gap of half an hour',
      'Australia/Lord_Howe',
      '15 2 * * *',
      '2026-10-03T00:00Z',
      ['2026-10-03T15:30', '2026-10-04T15:15'],
    ],
  ])('%s: %s %s', (_, timezone, cron, from, expected) => {
    expect(following({ cron, timezone }, from, expected.length)).toEqual(expected);
  });

  test('from wherever one looks, the next instant is the same one', () => {
    const changes = ['2026-03-08T07:00Z', '2026-03-29T01:00Z', '2026-10-25T01:00Z', '2026-11-01T06:00Z'].map(
      at,
    );
    const crons = ['30 2 * * *', '30 1,2 * * *', '*/7 1-3 * * *', '0 * * * *', '0 0 * * 0', '45 2 L * *'];
    fc.assert(
      fc.property(
        fc.constantFrom(...crons),
        fc.constantFrom('Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe'),
        fc.constantFrom(...changes),
        fc.integer({ min: -180 * MINUTE_MS, max: 180 * MINUTE_MS }),
        fc.nat(120 * MINUTE_MS),
        (cron, timezone, change, offset, earlier) => {
          const rule = resolveRule('x', { cron, timezone });
          const from = change + offset;
          const next = nextInstant(rule, from)!;
          expect(next).toBeGreaterThan(from);
          let walked = nextInstant(rule, from - earlier)!;
          while (walked <= from) walked = nextInstant(rule, walked)!;
          expect(walked).toBe(next);
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('everyMs', () => {
  test('fires at multiples of the period since the epoch, so a restart does not shift it', () => {
    expect(following({ everyMs: 300_000 }, '2026-11-20T12:03:17Z', 2)).toEqual([
      '2026-11-20T12:05',
      '2026-11-20T12:10',
    ]);
    expect(nextInstant(resolveRule('x', { everyMs: 1_000 }), 5_000)).toBe(6_000);
  });

  test('startAt is the first instant and sets the phase', () => {
    const rule = resolveRule('x', { everyMs: 7_000, startAt: 100_500 });
    expect(nextInstant(rule, 0)).toBe(100_500);
    expect(nextInstant(rule, 100_499)).toBe(100_500);
    expect(nextInstant(rule, 100_500)).toBe(107_500);
    expect(nextInstant(rule, 121_499)).toBe(121_500);
  });

  test('is always the first multiple behind the given instant', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1_000, max: 1e11 }),
        fc.option(fc.nat(4e12), { nil: undefined }),
        fc.nat(4e12),
        (everyMs, startAt, after) => {
          const next = nextInstant(
            resolveRule('x', { everyMs, ...(startAt !== undefined && { startAt }) }),
            after,
          )!;
          expect(next).toBeGreaterThan(after);
          expect((next - (startAt ?? 0)) % everyMs).toBe(0);
          expect(next === startAt || next - everyMs <= after).toBe(true);
        },
      ),
    );
  });
});

describe('startAt and until', () => {
  test('cron begins at startAt, inclusive', () => {
    const startAt = new Date('2026-12-01T09:00:00Z');
    expect(following({ cron: '0 9 * * *', startAt }, '2026-11-20T12:00Z', 2)).toEqual([
      '2026-12-01T09:00',
      '2026-12-02T09:00',
    ]);
  });

  test('until is the last instant, inclusive', () => {
    const until = at('2026-11-22T09:00:00Z');
    expect(following({ cron: '0 9 * * *', until }, '2026-11-20T12:00Z', 9)).toEqual([
      '2026-11-21T09:00',
      '2026-11-22T09:00',
    ]);
    expect(following({ everyMs: 1_000, until: 500 }, '2026-11-20T12:00Z', 9)).toEqual([]);
  });
});

describe('isSameTiming', () => {
  test('compares the fields that name instants only', () => {
    const rule = resolveRule('x', { cron: '0 9 * * *' });
    expect(isSameTiming(rule, resolveRule('x', { cron: ' 0 9  * * *', maxRuns: 3, missed: 'skip' }))).toBe(
      true,
    );
    expect(isSameTiming(rule, resolveRule('x', { cron: '0 9 * * *', timezone: 'Europe/Berlin' }))).toBe(
      false,
    );
    expect(isSameTiming(rule, resolveRule('x', { everyMs: 1_000 }))).toBe(false);
  });
});

describe('a wrong rule is refused with ERR_INVALID_SCHEDULE', () => {
  const never = [
    { cron: '' },
    { cron: '* * *' },
    { cron: '60 * * * *' },
    { cron: '* * * * 8' },
    { cron: '*/0 * * * *' },
    { cron: '5-1 * * * *' },
    { cron: 'NaN * * * *' },
    { cron: '@reboot' },
    { cron: '0 0 31 2 *' },
    { cron: '0 0 0 1 1 * 2030' },
    { cron: '2030-01-01T00:00:00' },
    { cron: '* * * * *\0' },
    { cron: '}x * * * *' },
    { cron: `${'1,'.repeat(200)}1 * * * *` },
    { cron: 5 },
    { cron: null },
    { cron: '* * * * *', timezone: 'Mars/Phobos' },
    { cron: '* * * * *', timezone: '+02:00' },
    { cron: '* * * * *', timezone: '' },
    { cron: '* * * * *', timezone: 7 },
    { cron: '* * * * *', everyMs: 1_000 },
    { everyMs: 1_000, timezone: 'UTC' },
    {},
    null,
    'x',
    { everyMs: 999 },
    { everyMs: NaN },
    { everyMs: Infinity },
    { everyMs: -1_000 },
    { everyMs: 1_000.5 },
    { everyMs: '1000' },
    { everyMs: 1e15 },
    { everyMs: 1_000, startAt: NaN },
    { everyMs: 1_000, startAt: new Date('no') },
    { everyMs: 1_000, until: -1 },
    { everyMs: 1_000, until: Infinity },
    { everyMs: 1_000, maxRuns: 0 },
    { everyMs: 1_000, maxRuns: 1.5 },
    { everyMs: 1_000, missed: 'some' },
    { everyMs: 1_000, missed: ['skip'] },
    { everyMs: 1_000, overlap: 'no' },
    { everyMs: 1_000, missed: 'all', overlap: 'skip' },
  ];

  test.each(never.map((rule) => [JSON.stringify(rule)?.slice(0, 60), rule]))('%s', (_, rule) => {
    expect(() => resolveRule('x', rule as unknown as ScheduleRule)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_SCHEDULE', key: 'x' }),
    );
  });

  test('any text as cron is a rule with a next instant, or is refused', () => {
    const field = fc.oneof(
      fc.constantFrom('*', '?', 'L', 'W', '1', '*/2', '1-5', '5#3', ',', '-', '59', '+1', '/', '#'),
      fc.string({ maxLength: 4 }),
    );
    fc.assert(
      fc.property(fc.array(field, { minLength: 1, maxLength: 7 }), (fields) => {
        let outcome: unknown;
        try {
          outcome = nextInstant(resolveRule('x', { cron: fields.join(' ') }), 0)! > 0;
        } catch (error) {
          outcome = (error as { code?: string }).code;
        }
        expect([true, 'ERR_INVALID_SCHEDULE']).toContain(outcome);
      }),
    );
  });
});

/** Due each second, if nothing else is given. */
const planned = (given: Partial<ScheduleRule>) =>
  resolveRule('x', { everyMs: 1_000, ...given } as ScheduleRule);

describe('planRun', () => {
  test('fires the instant that is due, and the next one follows', () => {
    for (const missed of ['skip', 'once', 'all'] as const) {
      expect(planRun(planned({ missed }), 5_000, 0, 5_003)).toEqual({ fire: [5_000], nextAt: 6_000 });
    }
  });

  test('once fires for the first instant that was missed and drops the others', () => {
    expect(planRun(planned({}), 5_000, 0, 9_500)).toEqual({ fire: [5_000], nextAt: 10_000 });
    expect(planRun(planned({}), 5_000, 0, 5_000_000)).toEqual({ fire: [5_000], nextAt: 5_001_000 });
  });

  test('once makes the same task whenever another worker takes over', () => {
    const first = planRun(planned({}), 5_000, 0, 9_500).fire;
    expect(planRun(planned({}), 5_000, 0, 14_700).fire).toEqual(first);
  });

  test('skip drops an instant that is more than a minute late', () => {
    const skip = planned({ missed: 'skip' });
    const late = 5_000 + MISSED_AFTER_MS;
    expect(planRun(skip, 5_000, 0, late)).toEqual({ fire: [5_000], nextAt: late + 1_000 });
    expect(planRun(skip, 5_000, 0, late + 1)).toEqual({ fire: [], nextAt: late + 1_000 });
  });

  test('all fires for every instant, so many at a time', () => {
    const all = planned({ missed: 'all' });
    expect(planRun(all, 5_000, 0, 7_500)).toEqual({ fire: [5_000, 6_000, 7_000], nextAt: 8_000 });
    const much = planRun(all, 5_000, 0, 5_000_000);
    expect(much.fire).toHaveLength(MOST_AT_ONCE);
    expect(much.nextAt).toBe(5_000 + MOST_AT_ONCE * 1_000);
  });

  test('maxRuns ends it, also in the middle of missed instants', () => {
    expect(planRun(planned({ maxRuns: 3 }), 5_000, 2, 5_000)).toEqual({ fire: [5_000], nextAt: undefined });
    expect(planRun(planned({ maxRuns: 3, missed: 'all' }), 5_000, 1, 9_000)).toEqual({
      fire: [5_000, 6_000],
      nextAt: undefined,
    });
  });

  test('until ends it', () => {
    expect(planRun(planned({ until: 6_000 }), 5_000, 0, 5_000).nextAt).toBe(6_000);
    expect(planRun(planned({ until: 5_999 }), 5_000, 0, 5_000).nextAt).toBeUndefined();
  });

  test('overlap: skip drops the instant while the last task has not ended; it is no run', () => {
    const skip = planned({ overlap: 'skip', maxRuns: 1 });
    expect(planRun(skip, 5_000, 0, 5_001, true)).toEqual({ fire: [], nextAt: 6_000 });
    expect(planRun(skip, 5_000, 0, 5_001, false)).toEqual({ fire: [5_000], nextAt: undefined });
  });

  test('waits when the clock of the server was set back', () => {
    expect(planRun(planned({}), 5_000, 0, 4_000)).toEqual({ fire: [], nextAt: 5_000 });
  });

  test('all leaves out no instant and repeats none, however late and in however many pieces', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(400_000), { minLength: 1, maxLength: 20 }), (pauses) => {
        const all = planned({ missed: 'all' });
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
