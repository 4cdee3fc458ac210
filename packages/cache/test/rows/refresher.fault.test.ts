/** Connections of a refresher break between any two of its steps: rows are refreshed on, by it and by others, and nothing comes back. */
import { describe, expect, test } from '@jest/globals';
import type { LoadRows } from '@mortise/cache/rows';
import { startProxy, startSingle } from '@mortise/redis-server';
import type { TcpProxy } from '@mortise/redis-server';
import { connect, freshPrefix, runServer, until } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import { cacheOf, Database, refresh } from '../fixture/tables.js';
import type { Item } from '../fixture/tables.js';

const HOUR = { everyMs: 3_600_000 };
const IDS = Array.from({ length: 20 }, (_, index) => `row ${index}`);
/** Long enough for a busy machine, short enough to wait for. */
const LEASE_MS = 1_000;

const { server } = await runServer();

/** A table whose rows all have one version; each load goes through `onLoad` once it knows what it will give. */
class Versions {
  version = 0;
  onLoad: (() => unknown) | undefined;

  readonly load: LoadRows<Item> = async (ids) => {
    const name = `version ${this.version}`;
    await this.onLoad?.();
    return new Map(ids.map((id) => [id, { name }]));
  };
}

/** A client is closed before what it is connected to: one that is reconnecting holds the process for two seconds. */
async function withProxy(act: (proxy: TcpProxy, client: Redis) => Promise<void>): Promise<void> {
  const proxy = await startProxy({ port: server.port });
  const client = connect(proxy.url);
  try {
    await act(proxy, client);
  } finally {
    client.disconnect();
    await proxy.stop();
  }
}

describe.each(['cut', 'dropReplies', 'dropRequests'] as const)('a break (%s)', (how) => {
  test.each(['before the claim', 'during the load'] as const)(
    '%s costs a row the time of a lease, and no change',
    (when) =>
      withProxy(async (proxy, client) => {
        const prefix = freshPrefix();
        const source = new Versions();
        const direct = connect(server.url);
        const rows = cacheOf(direct, source, { prefix });
        const { refresher } = await refresh(client, cacheOf(client, source, { prefix }), {
          leaseMs: LEASE_MS,
        });
        await rows.scheduleAll(IDS, HOUR);
        await until('the first fill', async () => (await rows.getMany(IDS)).size === IDS.length);
        for (let round = 1; round <= 3; round += 1) {
          source.version = round;
          let isBroken = false;
          if (when === 'before the claim') {
            proxy[how]();
            isBroken = true;
          } else {
            source.onLoad = () => {
              if (!isBroken) proxy[how]();
              isBroken = true;
            };
          }
          await Promise.all(IDS.map((id) => rows.refresh(id)));
          await until('the break', () => isBroken);
          await proxy.restore();
          const newest = `version ${round}`;
          await until(newest, async () => {
            const found = await rows.getMany(IDS);
            // A row that is there stays there, whatever breaks.
            expect(found.size).toBe(IDS.length);
            return [...found.values()].every(({ name }) => name === newest);
          });
          source.onLoad = undefined;
        }
        // Changes and removals during a break win over what the refresher still has.
        source.onLoad = () => proxy[how]();
        await rows.refresh('row 0');
        await rows.unschedule('row 1');
        source.version = 4;
        await until('a load', async () => (await rows.stats()).due === 0);
        await proxy.restore();
        source.onLoad = undefined;
        await until('the last version', async () => {
          await rows.refresh('row 0');
          return (await rows.get('row 0'))?.name === 'version 4';
        });
        await refresher.stop();
        expect(await rows.get('row 1')).toBeNull();
        expect(await rows.stats()).toMatchObject({ scheduled: IDS.length - 1, loaded: IDS.length - 1 });
      }),
  );
});

test('a refresher whose connection says nothing any more leaves its rows to another one', () =>
  withProxy(async (proxy, silent) => {
    const prefix = freshPrefix();
    const source = new Versions();
    const rows = cacheOf(connect(server.url), new Database().put(...IDS), { prefix });
    await rows.scheduleAll(IDS, HOUR);
    source.onLoad = () => proxy.dropRequests();
    const { refresher } = await refresh(silent, cacheOf(silent, source, { prefix }), {
      leaseMs: LEASE_MS,
    });
    await until('its claim', async () => (await rows.stats()).due === 0);
    await refresh(connect(server.url), rows, { leaseMs: LEASE_MS });
    await until('all rows', async () => (await rows.getMany(IDS)).size === IDS.length);
    await proxy.restore();
    // Its commit arrives now, if ever: the leases are those of somebody else.
    await until('its end', async () => (await rows.stats()).loaded === IDS.length);
    expect((await rows.get('row 3'))?.name).toBe('item row 3');
    await refresher.stop();
  }));

test('stop ends when all leases have, although Redis does not answer', async () => {
  const own = await startSingle();
  const client = connect(own.url);
  const source = new Versions();
  const rows = cacheOf(client, source);
  const { refresher } = await refresh(client, rows, { leaseMs: LEASE_MS });
  await rows.scheduleAll(IDS, HOUR);
  await until('the first fill', async () => (await rows.getMany(IDS)).size === IDS.length);
  let isLoading = false;
  source.onLoad = () => {
    own.pause();
    isLoading = true;
  };
  await Promise.all(IDS.map((id) => rows.refresh(id)));
  await until('a load', () => isLoading);
  await refresher.stop();
  // Its leases have expired when Redis goes on.
  own.resume();
  expect(await rows.stats()).toMatchObject({ scheduled: IDS.length, loaded: IDS.length });
  client.disconnect();
  await own.stop();
});
