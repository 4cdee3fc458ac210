/** Connections of the near tier that are left behind, and a process that closes its client without stopping its cache. */
import { createServer, connect as dial } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { afterEach, expect, jest, test } from '@jest/globals';
import { startProxy, startSingle } from '@mortise/redis-server';
import { connect, runServer, until } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import { pagesOf } from '../fixture/cached.js';
import { exitOf } from '../fixture/exit-of.js';

const { server: before } = await runServer();
afterEach(() => {
  jest.useRealTimers();
});

test.each(['quit', 'disconnect'])('a process ends when it closes its client (%s)', async (how) => {
  expect(await exitOf([before], how)).toBe(0);
});

/** A load balancer: passes on bytes to one server, and notes which connection is subscribed. */
class Address {
  readonly #server: Server;
  readonly #pairs = new Set<{ readonly ends: readonly Socket[]; isSubscribed: boolean }>();

  private constructor(public port: number) {
    this.#server = createServer((near) => {
      const far = dial(this.port, '127.0.0.1');
      const pair = { ends: [near, far], isSubscribed: false };
      this.#pairs.add(pair);
      near.on('data', (data: Buffer) => {
        pair.isSubscribed ||= data.includes('__redis__:invalidate');
        far.write(data);
      });
      far.on('data', (data: Buffer) => near.write(data));
      for (const [end, other] of [
        [near, far],
        [far, near],
      ] as const) {
        end.on('error', () => undefined);
        end.on('close', () => {
          other.destroy();
          this.#pairs.delete(pair);
        });
      }
    });
  }

  static async of(port: number): Promise<Address> {
    const address = new Address(port);
    await new Promise<void>((resolve) => address.#server.listen(0, '127.0.0.1', resolve));
    return address;
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** All connections but those that are subscribed come anew, and go to another server. */
  moveTo(port: number): void {
    this.port = port;
    for (const { ends, isSubscribed } of this.#pairs) {
      if (!isSubscribed) for (const end of ends) end.destroy();
    }
  }

  async stop(): Promise<void> {
    for (const { ends } of this.#pairs) for (const end of ends) end.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

test('the near tier opens when both of its connections lead to one server, not sooner', async () => {
  const after = await startSingle();
  const address = await Address.of(before.port);
  const direct = connect(after.url);
  // So another connection there has the id of the one that was left behind.
  const others = Array.from({ length: 60 }, () => connect(after.url));
  const redis = connect(address.url);
  try {
    await Promise.all(others.map((other) => other.ping()));
    const { cache, prefix, errors } = pagesOf<string>(redis, { near: {} });
    const entry = `${prefix}:cache:{pages}:value:tools`;
    await cache.set('tools', 'saws');
    const nearby = (): Promise<boolean> =>
      until('the near tier', async () => {
        await cache.get('tools');
        return cache.peek('tools') === 'saws';
      });
    await nearby();
    const copy = await connect(before.url).dumpBuffer(entry);
    await direct.restore(entry, 60_000, copy);
    address.moveTo(after.port);
    await until('the near tier to close', () => cache.peek('tools') === undefined);
    await nearby();
    expect(await direct.del(entry)).toBe(1);
    await until('the news of the server where it is now', () => cache.peek('tools') === undefined);
    expect(errors.map(String)).toContain('Error: its two connections reach different servers');
  } finally {
    for (const client of [redis, direct, ...others]) client.disconnect();
    await address.stop();
    await after.stop();
  }
});

test('a process ends when it closes a client that has lost its server', async () => {
  const proxy = await startProxy({ port: before.port });
  try {
    expect(await exitOf([proxy], 'disconnect', () => before.kill())).toBe(0);
  } finally {
    await proxy.stop();
  }
});

test('an outage adds no listeners to the connections of a near tier, however long it takes', async () => {
  const redis = connect('redis://127.0.0.1:1');
  const duplicates = jest.spyOn(redis, 'duplicate');
  const { cache } = pagesOf<string>(redis, { near: {} });
  expect(await cache.getOrLoad('tools', () => 'saws')).toBe('saws');
  const connections = (): Redis[] => duplicates.mock.results.map(({ value }) => value as Redis);
  await until('both connections', () => connections().length === 2);
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'clearImmediate', 'queueMicrotask'] });
  for (let second = 0; second < 20; second += 1) {
    await jest.advanceTimersByTimeAsync(1_000);
    await new Promise(setImmediate);
  }
  for (const connection of connections()) expect(connection.listenerCount('ready')).toBeLessThanOrEqual(2);
  const stopped = cache.stop();
  await jest.advanceTimersByTimeAsync(2_000);
  await stopped;
});
