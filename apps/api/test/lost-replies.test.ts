/**
 * Every write route, whose client repeats the request because its answer was lost. The repeated request is answered as the
 * first one, or as the description of the route says, and the state is that of one request.
 */
import { afterAll, describe, expect, test } from '@jest/globals';
import { startProxy } from '@mortise/redis-server';
import { until } from '@mortise/test-kit';

import type { Answer, Api, Sent } from './fixture/api.js';
import { startApi } from './fixture/api.js';
import { REDIS_URL } from './fixture/redis.js';
import type { Write } from './fixture/writes.js';
import { WRITES } from './fixture/writes.js';

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

let runs = 0;

/** The entities of one run: the text `ID` in a request stands for a new id, `FILE` for the last created file. */
class Run {
  readonly #id = `run${(runs += 1)}`;
  readonly #write: Write;
  readonly #method: string;
  readonly #before: Answer[] = [];

  constructor(route: string) {
    this.#write = WRITES[route]!;
    this.#method = route.split(' ')[0]!;
  }

  async prepare(): Promise<void> {
    for (const sent of this.#write.before ?? []) {
      const answer = await api.send(this.#named(sent));
      expect([sent.path, answer.status, answer.text]).toEqual([sent.path, expect.any(Number), answer.text]);
      expect(answer.status).toBeLessThan(300);
      this.#before.push(answer);
    }
  }

  async act(by: Api): Promise<Answer> {
    const { path, body, headers = {} } = this.#write;
    return by.send(this.#named({ method: this.#method, path, headers, body: body as never }));
  }

  async state(): Promise<unknown[]> {
    const found: unknown[] = [];
    for (const path of this.#write.reads ?? []) {
      const { status, json } = await api.send(this.#named({ path }));
      found.push([path, status, this.comparable(json)]);
    }
    return found;
  }

  /** Without ids, instants and remaining times, which differ between runs. */
  comparable(value: unknown): unknown {
    const text = JSON.stringify(value, (name, inner: unknown) =>
      /(?:At|Ms|Until|holder|lease|[tT]oken|^version|epoch|^taskId|^saleId|^chatId|^fileId|requestId|^key)$/.test(
        name,
      )
        ? typeof inner
        : inner,
    );
    return (
      text &&
      (JSON.parse(
        text
          .replaceAll(this.#id, 'ID')
          .replaceAll(/(?<=ID:)[\w-]{12}(?=:)/g, 'FILE')
          .replaceAll(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, 'UUID'),
      ) as unknown)
    );
  }

  #named({ path, headers = {}, body, ...sent }: Sent): Sent {
    const given = typeof body === 'function' ? (body as (before: Answer[]) => object)(this.#before) : body;
    const file = this.#before.findLast(({ json }) => json?.id)?.json.id as string;
    const named = (text: string): string => text.replaceAll('ID', this.#id).replaceAll('FILE', file);
    return {
      ...sent,
      path: `/v1${named(path)}`,
      headers: JSON.parse(named(JSON.stringify(headers))) as Record<string, string>,
      ...(given !== undefined && {
        body: Buffer.isBuffer(given) ? given : (JSON.parse(named(JSON.stringify(given))) as object),
      }),
    };
  }
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
    const [once, twice] = [new Run(route), new Run(route)];
    await Promise.all([once.prepare(), twice.prepare()]);
    const expected = shown(once, await once.act(api));
    expect(expected.status).toBeLessThan(300);
    const state = await once.state();
    await twice.act(api);
    expect(shown(twice, await twice.act(api))).toEqual(shownAgain(expected));
    expect(await twice.state()).toEqual(state);

    // One reply of Redis after the other is lost, until none is left.
    for (let nth = 1; nth < (leavesLease ? 1 : 12); nth += 1) {
      const run = new Run(route);
      await run.prepare();
      let isLost = false;
      void proxy.loseReply(nth).then(() => (isLost = true));
      await run.act(disturbed);
      if (!isLost) break;
      void proxy.loseReply(Infinity);
      await until('readiness', async () => (await disturbed.send({ path: '/health/ready' })).status === 200);
      expect([expected, shownAgain(expected)]).toContainEqual(shown(run, await run.act(disturbed)));
      expect(await run.state()).toEqual(state);
    }
  });
});
