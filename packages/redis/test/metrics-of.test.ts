import { expect, test } from '@jest/globals';
import { metricsOf } from '../src/index.js';

test('a metric has the name of its package', () => {
  const metric = metricsOf('locks');
  expect(metric('takes', '{take}', 'Takes from rate limiters')).toEqual({
    name: 'mortise.locks.takes',
    unit: '{take}',
    description: 'Takes from rate limiters',
  });
});
