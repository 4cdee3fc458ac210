import { describe, expect, test } from '@jest/globals';
import { taskTimes } from '@mortise/queues/admin';

describe('the times of tasks', () => {
  test('are percentiles of the waits and of the runs that began and ended', () => {
    const events = Array.from({ length: 100 }, (_, n) => [
      { type: 'enqueued', id: `t${n}`, at: 0 },
      { type: 'started', id: `t${n}`, at: n + 1 },
      { type: n === 99 ? 'dead' : 'succeeded', id: `t${n}`, at: 3 * (n + 1) },
    ]).flat();
    const unknown = [
      { type: 'succeeded', id: 'began before', at: 9_999 },
      { type: 'paused', at: 9_999 },
      { type: 'started', id: 'runs', at: 9_999 },
    ];
    expect(taskTimes([...unknown, ...events] as never)).toEqual({
      count: 100,
      wait: { p50: 50, p95: 95, p99: 99 },
      run: { p50: 100, p95: 190, p99: 198 },
    });
  });

  test('have one wait for each task, and a run for each attempt', () => {
    const types = ['enqueued', 'started', 'retrying', 'started', 'dead'];
    const events = types.map((type, n) => ({ type, id: 't', at: n * n }));
    expect(taskTimes(events as never)).toEqual({
      count: 2,
      wait: { p50: 1, p95: 1, p99: 1 },
      run: { p50: 3, p95: 7, p99: 7 },
    });
  });
});
