/**
 * Every write route, whose client repeats the request because its answer was lost. The repeated request is answered as the
 * first one, or as the description of the route says, and the state is that of one request.
 */
import { afterAll, describe, expect, test } from '@jest/globals';
import { startProxy } from '@mortise/redis-server';
import { until } from '@mortise/test-kit';

import type { Answer } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';
import { REDIS_URL } from '../fixture/redis.js';
import { Run } from '../fixture/run.js';
import { WRITES } from '../fixture/writes.js';

const api = await startApi({ CACHE_TABLES: 'stock' });
const proxy = await startProxy({ port: Number(new URL(REDIS_URL).port) });
afterAll(() => proxy.stop());
/** Its connections to Redis can lose replies. */
const disturbed = await startApi({
  MORTISE_PREFIX: api.prefix,
  CACHE_TABLES: 'stock',
  REDIS_URL: proxy.url,
});

interface Shown {
  readonly status?: number | undefined;
  readonly json?: Readonly<Record<string, unknown>> | undefined;
  readonly problem?: unknown;
}

test('the table has every write route, and the document describes repeated requests that are answered otherwise', async () => {
  const { json } = await api.send({ path: '/openapi.json' });
  const operations = Object.entries<Record<string, unknown>>(json.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => method !== 'get')
      .map(
        ([method, operation]) => [`${method.toUpperCase()} ${path.replace('/v1', '')}`, operation] as const,
      ),
  );
  expect(Object.keys(WRITES).toSorted()).toEqual(operations.map(([route]) => route).toSorted());
  const silent = operations.filter(
    ([route, operation]) =>
      WRITES[route]!.repeated && !/repeat|again|already/i.test(JSON.stringify(operation)),
  );
  expect(silent.map(([route]) => route)).toEqual([]);
});

describe.each(Object.keys(WRITES))('%s', (route) => {
  const { repeated, leavesLease } = WRITES[route]!;
  const shown = (run: Run, { status, json }: Answer): Shown => {
    const compared = run.comparable(json) as Shown['json'];
    return status < 400 ? { status, json: compared } : { problem: compared!['type'] };
  };
  const shownAgain = ({ status, json }: Shown): Shown =>
    repeated?.problem === undefined
      ? { status: repeated?.status ?? status, json: json && { ...json, ...repeated?.json } }
      : { problem: `https://mortise.dev/problems/${repeated.problem}` };

  test('answers a repeated request', async () => {
    const [once, twice] = [new Run(route, api), new Run(route, api)];
    await Promise.all([once.prepare(), twice.prepare()]);
    const expected = shown(once, await once.act(api));
    expect(expected.status).toBeLessThan(300);
    const state = await once.state(api);
    await twice.act(api);
    expect(shown(twice, await twice.act(api))).toEqual(shownAgain(expected));
    expect(await twice.state(api)).toEqual(state);

    // One reply of Redis after the other is lost, until none is left.
    for (let nth = 1; nth < (leavesLease ? 1 : 12); nth += 1) {
      const run = new Run(route, api);
      await run.prepare();
      let isLost = false;
      void proxy.loseReply(nth).then(() => (isLost = true));
      await run.act(disturbed);
      if (!isLost) break;
      void proxy.loseReply(Infinity);
      await until('readiness', async () => (await disturbed.send({ path: '/health/ready' })).status === 200);
      expect([expected, shownAgain(expected)]).toContainEqual(shown(run, await run.act(disturbed)));
      expect(await run.state(api)).toEqual(state);
    }
  });
});
