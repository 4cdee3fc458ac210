import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { metricsOf, SafeTelemetry } from '../src/index.js';
import type { SpanStart, Telemetry } from '../src/index.js';

const metric = { name: 'mortise.test.done', unit: '{task}', description: 'Done.' };
const start: SpanStart = { name: 'process', kind: 'consumer', attributes: {} };

afterEach(() => {
  jest.restoreAllMocks();
});

test.each([
  [null, 'null'],
  [5, 'number'],
  [[], 'an array'],
])('refuses %j', (telemetry, got) => {
  expect(() => SafeTelemetry.of(telemetry as never)).toThrow(
    new TypeError(`telemetry must be an object, got ${got}`),
  );
});

test('there is none where none is given', () => {
  expect(SafeTelemetry.of(undefined)).toBeUndefined();
});

test('adds the common attributes to counts and records, and counts no 0', () => {
  const [count, record] = [jest.fn(), jest.fn()];
  const telemetry = new SafeTelemetry({ count, record }, { kind: 'chat' });
  telemetry.count(metric, 2);
  telemetry.count(metric, 0);
  telemetry.count(metric, 1, { outcome: 'dead' });
  telemetry.record(metric, 0);
  telemetry.record(metric, 0.5, { kind: 'file' });
  expect(count.mock.calls).toEqual([
    [metric, 2, { kind: 'chat' }],
    [metric, 1, { kind: 'chat', outcome: 'dead' }],
  ]);
  expect(record.mock.calls).toEqual([
    [metric, 0, { kind: 'chat' }],
    [metric, 0.5, { kind: 'file' }],
  ]);
});

test('makes nothing for methods that the telemetry leaves out', () => {
  const telemetry = new SafeTelemetry({});
  telemetry.count(metric, 1);
  telemetry.record(metric, 1);
  const startSpan = jest.fn(() => start);
  expect(telemetry.span(startSpan)).toBeUndefined();
  expect(startSpan).not.toHaveBeenCalled();
  expect(telemetry.firstAttempt).toBe('link');
  expect(new SafeTelemetry({ firstAttempt: 'parent' }).firstAttempt).toBe('parent');
});

test('a span runs its work inside the telemetry, and ends', () => {
  const calls: unknown[] = [];
  const telemetry = new SafeTelemetry({
    span: (given) => {
      calls.push(given);
      return {
        traceContext: { traceparent: '00-1' },
        run: (act) => {
          calls.push('before');
          return act();
        },
        end: (how) => calls.push(how),
      };
    },
  });
  const span = telemetry.span(() => start)!;
  expect(span.traceContext).toEqual({ traceparent: '00-1' });
  expect(span.run(() => calls.push('work'))).toBe(3);
  span.end({ error: 'late' });
  expect(calls).toEqual([start, 'before', 'work', { error: 'late' }]);
});

describe('telemetry that throws', () => {
  const thrower = (): never => {
    throw new Error('a defect');
  };

  test('harms no caller, and is printed once', () => {
    const printed = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const telemetry = new SafeTelemetry({ count: thrower, record: thrower, span: thrower });
    telemetry.count(metric, 1);
    telemetry.record(metric, 1);
    expect(telemetry.span(() => start)).toBeUndefined();
    expect(printed.mock.calls).toEqual([['mortise: telemetry threw', new Error('a defect')]]);
  });

  test.each<[string, NonNullable<Telemetry['span']>]>([
    ['before the work', () => ({ run: thrower, end: thrower })],
    [
      'after the work',
      () => ({
        run: (act) => {
          act();
          return thrower();
        },
        end: thrower,
      }),
    ],
    [
      'and runs the work twice',
      () => ({
        run: (act) => {
          act();
          act();
          return thrower();
        },
        end: thrower,
      }),
    ],
    ['nothing, and never runs the work', () => ({ run: () => undefined as never, end: () => undefined })],
  ])('%s: the work runs once, with its own outcome', (_, span) => {
    jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const wrapped = new SafeTelemetry({ span }).span(() => start)!;
    const work = jest.fn(() => 'done');
    expect(wrapped.run(work)).toBe('done');
    expect(work).toHaveBeenCalledTimes(1);
    const failure = new RangeError('of the work');
    expect(() =>
      wrapped.run(() => {
        throw failure;
      }),
    ).toThrow(failure);
    wrapped.end({});
  });
});

test('a metric of metricsOf has the name of its package', () => {
  const ofLocks = metricsOf('locks');
  expect(ofLocks('takes', '{take}', 'Takes from rate limiters')).toEqual({
    name: 'mortise.locks.takes',
    unit: '{take}',
    description: 'Takes from rate limiters',
  });
});
