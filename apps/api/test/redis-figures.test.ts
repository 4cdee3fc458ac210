/** The figures of Redis; and the topics of values read only while somebody follows. */
import { describe, expect, test } from '@jest/globals';
import { runServer, transcript, until } from '@mortise/test-kit';

import type { Api } from './fixture/api.js';
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
        },
      ],
    ]);
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

  /** Another API with a follower, which reads every two seconds: in the time of its reads this one may read. */
  async function openClock(): Promise<{ readonly tick: (times: number) => Promise<void> }> {
    const other = await startApi({ REDIS_URL: server.url });
    // The age of a task that waits changes, so each read is an event.
    await other.send({ method: 'POST', path: '/v1/queues/waiting/tasks', body: { name: 'a', payload: 1 } });
    const reader = await EventReader.open(other.url, '/v1/events?topics=overview');
    await reader.count(2);
    return {
      tick: async (times) => {
        await reader.count(reader.events.length + times);
      },
    };
  }
  const clock = openClock();

  /** How often the API reads meanwhile: calls of INFO, or calls that name a key with this in it. */
  const readsWhile = async (ticks: number, key: string | undefined): Promise<number> => {
    const { tick } = await clock;
    if (key === undefined) {
      const before = await infoCalls();
      await tick(ticks);
      // The second call counts itself.
      return (await infoCalls()) - before - 1;
    }
    const lines = await transcript(admin, { prefix: api.prefix }, () => tick(ticks));
    return lines.filter((line) => !line.startsWith(' ') && line.includes(key)).length;
  };

  test.each<[string, number, string | undefined]>([
    ['redis', 1, undefined],
    ['overview', 1, 'queues:{q}'],
    ['lock:a', 4, 'locks:{a}'],
  ])('reads while somebody follows %s, once for all', async (topic, readsPerTick, key) => {
    await api.send({ method: 'PUT', path: '/v1/queues/q', body: {} });
    expect(await readsWhile(1, key)).toBe(0);
    const readers: EventReader[] = [];
    for (let n = 0; n < 3; n += 1)
      readers.push(await EventReader.open(api.url, `/v1/events?topics=${topic}`));
    await Promise.all(readers.map((reader) => reader.count(2)));
    const reads = await readsWhile(2, key);
    // Once for three followers: a reader for each would read six times as often as the clock ticks.
    expect([reads >= readsPerTick, reads <= 3 * readsPerTick]).toEqual([true, true]);
    for (const reader of readers) reader.close();
    await until('no reads', async () => (await readsWhile(1, key)) === 0);
  });
});
