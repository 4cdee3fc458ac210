import { expect, test } from '@jest/globals';
import { died, encodeAck, SUCCEEDED } from '../../src/work/completion.js';

test('a completion without data takes 15 bytes', () => {
  const bytes = encodeAck({ token: 4_294_967_295, attempt: 258 }, SUCCEEDED);
  expect(bytes.toString('hex')).toBe(`53ffffffff0102${'00'.repeat(8)}`);
  const retry = encodeAck({ token: 1 }, { verdict: 'R', delayMs: 1_500, data: 'é' });
  expect([retry.toString('latin1', 0, 1), retry.readDoubleBE(7), retry.toString('utf8', 15)]).toEqual([
    'R',
    1_500,
    'é',
  ]);
});

test.each([
  [Number.NaN, 0],
  [Infinity, 0],
  [-5, 0],
  [0.2, 1],
])('a delay of %p becomes %p, since the script could not refuse it any more', (delayMs, stored) => {
  expect(encodeAck({ token: 1 }, { verdict: 'L', delayMs, data: '' }).readDoubleBE(7)).toBe(stored);
});

test('the thrown error is the reason of death', () => {
  expect(died('because')).toEqual({ verdict: 'D', delayMs: 0, data: 'because' });
});
