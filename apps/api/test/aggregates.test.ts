/** GET /v1/aggregates/daily/{dimension}/{day} */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { connect, freshPrefix } from '@mortise/test-kit';

import { DailyAggregates, dayKeys, memberOf, partsOf } from '../src/aggregates/index.js';
import type { Api } from './fixture/api.js';
import { startApi } from './fixture/api.js';

const DAY = '2026-11-20';
const redis = connect();
const prefix = freshPrefix();
let api: Api;

beforeAll(async () => {
  api = await startApi({ MORTISE_PREFIX: prefix });
  const { country, region, city, total } = dayKeys(prefix, DAY);
  await redis.zadd(country, 5, 'US', 7, 'DE', 1, 'ZZ');
  await redis.zadd(region, 5, 'US/California', 4, 'DE/', 3, memberOf('DE', 'a/b%'));
  await redis.zadd(city, 5, 'US/California/Oakland', 7, 'DE//', 1, 'ZZ//');
  await redis.set(total, 13);
  for (let index = 0; index < 300; index += 1) {
    await redis.zadd(dayKeys(prefix, '2026-11-19').city, index + 1, `US/R/C${index}`);
  }
});
afterAll(() => api.app.close());

const top = async (path: string): Promise<[number, unknown]> => {
  const { status, json } = await api.send({ path: `/v1/aggregates/daily/${path}` });
  return [status, json];
};

describe('GET /v1/aggregates/daily/{dimension}/{day}', () => {
  test.each([
    [
      'country',
      [
        { country: 'DE', count: 7 },
        { country: 'US', count: 5 },
        { country: 'ZZ', count: 1 },
      ],
    ],
    [
      'region',
      [
        { country: 'US', region: 'California', count: 5 },
        { country: 'DE', region: '', count: 4 },
        { country: 'DE', region: 'a/b%', count: 3 },
      ],
    ],
    [
      'city',
      [
        { country: 'DE', region: '', city: '', count: 7 },
        { country: 'US', region: 'California', city: 'Oakland', count: 5 },
        { country: 'ZZ', region: '', city: '', count: 1 },
      ],
    ],
  ])('%s: the most frequent first', async (dimension, items) => {
    expect(await top(`${dimension}/${DAY}`)).toEqual([
      200,
      { day: DAY, dimension, total: 13, places: 3, items },
    ]);
  });

  test('gives as many as are asked for, and 10 when nobody says', async () => {
    const [, some] = await top(`country/${DAY}?limit=1`);
    expect(some).toMatchObject({ total: 13, places: 3, items: [{ country: 'DE' }] });
    const [, usual] = (await top('city/2026-11-19')) as [number, { items: object[]; places: number }];
    expect([usual.items.length, usual.places]).toEqual([10, 300]);
    const [, most] = (await top('city/2026-11-19?limit=200')) as [number, { items: object[] }];
    expect([most.items.length, most.items.at(-1)]).toEqual([
      200,
      { country: 'US', region: 'R', city: 'C100', count: 101 },
    ]);
  });

  test('a day without lines is empty', async () => {
    expect(await top('city/2024-02-29')).toEqual([
      200,
      { day: '2024-02-29', dimension: 'city', total: 0, places: 0, items: [] },
    ]);
  });

  test.each([
    `country/2026-02-29`,
    `country/2026-11-31`,
    `country/2026-1-1`,
    `country/20261120`,
    `country/today`,
    `country/2026-11-20T00:00:00Z`,
    `country/%7D%00${DAY}`,
    `country/+02026-11-20`,
    `continent/${DAY}`,
    `total/${DAY}`,
    `files/${DAY}`,
    `__proto__/${DAY}`,
    `Country/${DAY}`,
    `${'x'.repeat(2_000)}/${DAY}`,
  ])('%.60s is refused', async (path) => {
    expect(await top(path)).toEqual([
      400,
      expect.objectContaining({ type: expect.stringMatching(/\/invalid-id$/) }),
    ]);
  });

  test.each([
    'limit=0',
    'limit=201',
    'limit=-1',
    'limit=1e1',
    'limit=',
    'limit=NaN',
    'limit=1&limit=2',
    'n=5',
  ])('?%s is refused', async (query) => {
    const refusal = expect.objectContaining({ type: expect.stringMatching(/\/invalid-query$/) });
    expect(await top(`country/${DAY}?${query}`)).toEqual([400, refusal]);
  });

  test.each(['0', '201', '1e1'])('?limit=%s is refused with the range', async (limit) => {
    const message = 'must be a whole number from 1 to 200 in decimal digits';
    expect(await top(`country/${DAY}?limit=${limit}`)).toMatchObject([400, { errors: [{ message }] }]);
  });
});

describe('DailyAggregates', () => {
  const aggregates = new DailyAggregates(redis, { prefix });

  test.each([
    ['planet', DAY, 10],
    ['country', 'today', 10],
    ['country', '2026-02-30', 10],
    ['country', DAY, 0],
    ['country', DAY, 201],
    ['country', DAY, Number.NaN],
  ])('refuses %s of %s, %d', async (dimension, day, limit) => {
    await expect(aggregates.top(dimension as 'city', day, { limit })).rejects.toThrow(RangeError);
  });
});

test.each([[['US']], [['US', '']], [['US', 'a/b', '%2F']], [['', '%', '%25/']]])(
  'the member of %j has all its parts',
  (parts) => {
    expect(partsOf(memberOf(...parts))).toEqual(parts);
  },
);
