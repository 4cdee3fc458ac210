import { expect, test } from '@jest/globals';
import { Pace } from '../src/work/pace.js';

function newPace(): { pace: Pace; run: (name: string, ms: number, times: number) => boolean } {
  const pace = new Pace();
  return {
    pace,
    run: (name, ms, times) => {
      for (let n = 0; n < times; n += 1) pace.ran(name, ms);
      return pace.isQuick(name);
    },
  };
}

test('a handler is quick when six in a row have shown it, each name by its own', () => {
  const { pace, run } = newPace();
  expect([pace.isQuick('a'), run('a', 0.1, 5), run('a', 0.1, 1)]).toEqual([false, false, true]);
  expect(pace.isQuick('b')).toBe(false);
});

test('one that takes half a millisecond once has to show it again', () => {
  const { run } = newPace();
  run('a', 0.1, 10);
  expect([run('a', 0.5, 1), run('a', 0.4, 5), run('a', 0.4, 1)]).toEqual([false, false, true]);
});

test('one that was slow has to show it a thousand times, whatever came in between', () => {
  const { run } = newPace();
  run('a', 0.1, 10);
  expect([run('a', 100, 1), run('a', 0.1, 500), run('a', 50, 1)]).toEqual([false, false, false]);
  expect([run('a', 0.1, 499), run('a', 0.1, 1)]).toEqual([false, true]);
});
