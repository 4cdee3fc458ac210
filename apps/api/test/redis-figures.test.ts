/** The figures of Redis; and the topics of values read only while somebody follows. */
import { describe, expect, test } from '@jest/globals';
import { runServer, transcript, until } from '@mortise/test-kit';

import type { Answer, Api } from './fixture/api.js';
import { startApi } from './fixture/api.js';
import { EventReader } from './fixture/streams.js';

const { server, connect } = await runServer({ isCluster: true });
const admin = connect();
const api = await startApi({ REDIS_URL: server.url });

async function startAs(user: string, ...rights: string[]): Promise<Api> {
  await admin.call('acl', ['setuser', user, 'on', '>pw', '+@all', '&*', '~*', ...rights]);
  return startApi({ REDIS_URL: server.url, REDIS_USERNAME: user, REDIS_PASSWORD: 'pw' });
}

describe('GET /v1/redis', () => {
  test('has the figures of the server, its slow commands, and what to change', async () => {
    await admin.config('SET', 'slowlog-log-slower-than', '0');
    await admin.set('canary-key', 'canary-value');
    await admin.config('SET', 'slowlog-log-slower-than', '1000000');
    const { status, json, text } = await api.send({ path: '/v1/redis' });
    const { host, port } = new URL(server.url);
    const address = `${host.split(':')[0]}:${port}`;
    expect([status, json.nodes]).toEqual([
      200,
      [
        {
          address,
          version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
          usedBytes: expect.any(Number),
          maxBytes: 0,
          policy: 'noeviction',
          opsPerSecond: expect.any(Number),
          clients: expect.any(Number),
          evictedKeys: 0,
        },
      ],
    ]);
    expect(json.cluster).toEqual({ slotsCovered: 16_384, masters: 1, isOk: true });
    expect(json.nodes[0].usedBytes).toBeGreaterThan(100_000);
    const set = json.slow.find(({ command }: { command: string }) => command === 'SET');
    expect(set).toEqual({
      address,
      at: expect.any(Number),
      micros: expect.any(Number),
      command: 'SET',
      arguments: 2,
    });
    expect(Math.abs(Date.now() - set.at)).toBeLessThan(60_000);
    expect(text).not.toContain('canary');
    expect(json.findings.length).toBeGreaterThan(3);
    expect(json.findings.map(({ level }: { level: string }) => level)).toEqual(
      expect.arrayContaining(['ok']),
    );
  });

  test.each([
    ['info', ['-info'], { version: null, usedBytes: null, opsPerSecond: null }, true],
    ['slowlog', ['-slowlog'], { policy: 'noeviction' }, false],
  ])('says null for what a server without %s refuses to tell', async (user, rights, node, hasSlow) => {
    const { status, json } = await (await startAs(user, ...rights)).send({ path: '/v1/redis' });
    expect([status, json.nodes]).toEqual([200, [expect.objectContaining(node)]]);
    expect(Array.isArray(json.slow)).toBe(hasSlow);
  });
});

describe('a topic of values', () => {
  const infoCalls = async (): Promise<number> =>
    Number(/^cmdstat_info:calls=(\d+)/m.exec(await admin.info('commandstats'))![1]);

  /** Another API with a follower of a lock, of which it tells each change within half a second: meanwhile this one may read. */
  async function openClock(): Promise<{ readonly tick: (times: number) => Promise<void> }> {
    const other = await startApi({ REDIS_URL: server.url });
    const reader = await EventReader.open(other.url, '/v1/events?topics=lock:clock');
    await reader.count(2);
    const send = (path: string, body: object): Promise<Answer> =>
      other.send({ method: 'POST', path: `/v1/locks/clock/${path}`, body });
    return {
      tick: async (times) => {
        for (let n = 0; n < times; n += 1) {
          const { json } = await send('acquire', { leaseMs: 60_000 });
          await reader.count(reader.events.length + 1);
          await send('release', { holder: json.holder });
          await reader.count(reader.events.length + 1);
        }
      },
    };
  }
  const clock = openClock();

  const TOPICS = [
    // Nothing names a key: calls of INFO are counted.
    { topic: 'redis', everySeconds: 2, key: undefined },
    { topic: 'overview', everySeconds: 2, key: 'queues:{q}' },
    { topic: 'lock:a', everySeconds: 0.5, key: 'locks:{a}' },
  ] as const;
  const SECONDS = 2;
  const FOLLOWED_SECONDS = 3;

  /** How often the API reads the values of each topic meanwhile. */
  const readsWhile = async (seconds: number): Promise<number[]> => {
    const { tick } = await clock;
    let infos = 0;
    // Inside of the transcript, whose connection sends an INFO of its own.
    const lines = await transcript(admin, { prefix: api.prefix }, async () => {
      const before = await infoCalls();
      await tick(seconds);
      // The second call counts itself.
      infos = (await infoCalls()) - before - 1;
    });
    return TOPICS.map(({ key }) =>
      key === undefined ? infos : lines.filter((line) => !line.startsWith(' ') && line.includes(key)).length,
    );
  };

  test('reads while somebody follows, once for all, each topic at its own pace', async () => {
    await api.send({ method: 'PUT', path: '/v1/queues/q', body: {} });
    expect(await readsWhile(SECONDS)).toEqual([0, 0, 0]);
    const readers: EventReader[] = [];
    for (const { topic } of TOPICS)
      for (let n = 0; n < 3; n += 1)
        readers.push(await EventReader.open(api.url, `/v1/events?topics=${topic}`));
    await Promise.all(readers.map((reader) => reader.count(2)));
    const startedAt = performance.now();
    const reads = await readsWhile(FOLLOWED_SECONDS);
    const seconds = (performance.now() - startedAt) / 1_000;
    // A reader for each of three followers would read three times as often.
    expect(
      TOPICS.map(({ everySeconds }, at) => [reads[at]! >= 1, reads[at]! <= seconds / everySeconds + 1]),
    ).toEqual(TOPICS.map(() => [true, true]));
    for (const reader of readers) reader.close();
    await until('no reads', async () => (await readsWhile(SECONDS)).every((count) => count === 0));
  });
});
