import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { MultiLock, Mutex } from '@mortise/locks';
import type { MultiLease } from '@mortise/locks';
import { startSingle } from '@mortise/redis-server';
import type { RedisServer } from '@mortise/redis-server';
import { connect, freshPrefix, transcript } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import * as scripts from '../src/scripts.gen.js';
import { queued } from './queued.js';
import { withoutRechecks } from './without-rechecks.js';

const prefix = freshPrefix();
let plain: RedisServer;
let enforcing: RedisServer;

/** The first use of a script on a server sends its text, and the first wait for a lock subscribes. */
async function warmUp(url: string): Promise<void> {
  const [redis, other] = [connect(url), connect(url)];
  const lock = new MultiLock(redis, ['a', 'b'], { prefix });
  const lease = await lock.acquire();
  await lease.renew();
  await lock.inspect();
  const wait = new MultiLock(other, ['a', 'b'], { prefix }).acquire();
  await queued(new Mutex(redis, lock.names[0]!, { prefix }), 1);
  await lease.release();
  await (await wait).release();
  const mutex = await new Mutex(redis, 'a', { prefix }).acquire();
  await mutex.release();
}

beforeAll(async () => {
  [plain, enforcing] = await Promise.all([startSingle(), startSingle({ isCluster: true })]);
  await Promise.all([warmUp(plain.url), warmUp(enforcing.url)]);
});

afterAll(async () => {
  await Promise.all([plain?.stop(), enforcing?.stop()]);
});

async function commands(client: Redis, action: () => Promise<unknown>): Promise<string[]> {
  const lines = await transcript(client, { prefix, scripts }, action);
  return lines.map((line) => line.replaceAll(/locks:\{([^}]*)\}:/g, '$1.').replace(/grant:\S+/, 'grant'));
}

describe('on a single node', () => {
  test('free locks cost one command to take and one to give back, whatever slots they have', async () => {
    const redis = connect(plain.url);
    const lock = new MultiLock(redis, ['a', 'b'], { prefix });
    expect(lock.names).toEqual(['b', 'a']);
    let lease: MultiLease | null = null;
    const take = [
      'evalsha multi-lock.acquire b.lease b.token b.queue a.lease a.token a.queue',
      '  time',
      '  exists b.lease b.queue a.lease a.queue',
      '  set b.lease',
      '  get b.token',
      '  setrange b.token',
      '  set a.lease',
      '  get a.token',
      '  setrange a.token',
    ];
    const giveBack = [
      'evalsha mutex.release a.lease a.token a.queue b.lease b.token b.queue',
      '  get a.lease',
      '  zcard a.queue',
      '  del a.lease',
      '  get b.lease',
      '  zcard b.queue',
      '  del b.lease',
    ];
    expect(
      await commands(redis, async () => {
        lease = await lock.acquire();
      }),
    ).toEqual(take);
    expect(await commands(redis, () => lease!.renew())).toEqual([
      'evalsha mutex.renew b.lease b.token a.lease a.token',
      '  get b.lease',
      '  pexpire b.lease',
      '  get a.lease',
      '  pexpire a.lease',
    ]);
    expect(await commands(redis, () => lock.tryAcquire())).toEqual([
      ...take.slice(0, 3),
      '  get b.lease',
      '  pttl b.lease',
    ]);
    expect(await commands(redis, () => lease!.release())).toEqual(giveBack);
    expect(
      await commands(redis, async () => {
        lease = await lock.tryAcquire();
      }),
    ).toEqual(take);
    expect(await commands(redis, () => lease!.release())).toEqual(giveBack);
  });

  test('what many callers of one tick ask for travels together', async () => {
    const redis = connect(plain.url);
    const locks = Array.from(
      { length: 20 },
      (_, index) => new MultiLock(redis, [`x${index}`, `y${index}`], { prefix }),
    );
    let leases: MultiLease[] = [];
    const taken = await commands(redis, async () => {
      leases = await Promise.all(locks.map((lock) => lock.acquire()));
    });
    expect(taken.filter((line) => !line.startsWith(' '))).toHaveLength(1);
    const given = await commands(redis, () => Promise.all(leases.map((lease) => lease.release())));
    expect(given.filter((line) => !line.startsWith(' '))).toHaveLength(1);
  });

  test('a lock that is waited for costs one command more, once its channel is open', async () => {
    const [redis, other] = [connect(plain.url), connect(plain.url)];
    const lock = new MultiLock(redis, ['a', 'b'], { prefix });
    const mutex = new Mutex(other, 'a', { prefix });
    const turn = async (): Promise<string[]> => {
      const holder = await mutex.acquire();
      return commands(redis, async () => {
        const wait = lock.acquire();
        await queued(mutex, 1);
        await holder.release();
        await (await wait).release();
      });
    };
    await turn();
    const sent = withoutRechecks(await turn()).filter(
      (line) => !line.startsWith(' ') && !line.includes('inspect'),
    );
    expect(sent).toEqual([
      'evalsha multi-lock.acquire b.lease b.token b.queue a.lease a.token a.queue',
      'evalsha mutex.release a.lease a.token a.queue',
      'evalsha multi-lock.acquire b.lease b.token b.queue a.lease a.token a.queue',
      'evalsha mutex.release a.lease a.token a.queue b.lease b.token b.queue',
    ]);
  });
});

describe('on a node that enforces its slots', () => {
  test('the first refusal is the only one; then each slot costs one command', async () => {
    const redis = connect(enforcing.url);
    const tagged = ['a', 'b', 'c'];
    const lock = new MultiLock(redis, tagged, { prefix });
    let lease: MultiLease | null = null;
    const perSlot = lock.names.map(
      (name) => `evalsha multi-lock.acquire ${name}.lease ${name}.token ${name}.queue`,
    );
    const outer = async (action: () => Promise<unknown>): Promise<string[]> =>
      (await commands(redis, action)).filter((line) => !line.startsWith(' '));
    const refused = async (): Promise<number> => {
      const info = String(await enforcing.command('INFO', 'errorstats'));
      return Number(/errorstat_CROSSSLOT:count=(\d+)/.exec(info)?.[1] ?? 0);
    };
    const before = await refused();
    expect(
      await outer(async () => {
        lease = await lock.acquire();
      }),
    ).toEqual(perSlot);
    expect(await refused()).toBe(before + 1);
    expect(await outer(() => lease!.renew())).toHaveLength(3);
    expect(await outer(() => lease!.release())).toEqual(
      lock.names
        .toReversed()
        .map((name) => `evalsha mutex.release ${name}.lease ${name}.token ${name}.queue`),
    );
    await new MultiLock(redis, ['d', 'e'], { prefix }).using(() => undefined);
    expect(await refused()).toBe(before + 1);
  });

  test('renewals and releases for others learn it, too', async () => {
    const holder = await new MultiLock(connect(enforcing.url), ['a', 'b'], { prefix }).acquire();
    expect(await new MultiLock(connect(enforcing.url), ['a', 'b'], { prefix }).renewFor(holder.holder)).toBe(
      true,
    );
    const fresh = new MultiLock(connect(enforcing.url), ['a', 'b'], { prefix });
    expect(await fresh.releaseFor(holder.holder)).toBe(true);
    expect(await fresh.tryAcquire().then((lease) => lease?.release())).toBe(true);
  });
});
