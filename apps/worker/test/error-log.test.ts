import { expect, test } from '@jest/globals';
import { pino } from 'pino';

import { ErrorLog } from '../src/error-log.js';

test('an error that repeats is one line a minute, with a count', () => {
  const lines: { msg: string; repeatsOfLast?: number }[] = [];
  let now = 1_000_000;
  const errors = new ErrorLog(pino({}, { write: (line) => lines.push(JSON.parse(line)) }), () => now);
  for (let count = 0; count < 100; count += 1) errors.add(new Error('Redis is full'));
  expect(lines.map(({ msg }) => msg)).toEqual(['Redis is full']);
  now += 60_000;
  errors.add(new Error('Redis is full'));
  expect(lines.at(-1)).toMatchObject({ msg: 'Redis is full', repeatsOfLast: 99 });
  errors.add('something else');
  expect(lines.at(-1)).toMatchObject({ msg: 'something else' });
  expect(lines.at(-1)).not.toHaveProperty('repeatsOfLast');
  expect(lines).toHaveLength(3);
});
