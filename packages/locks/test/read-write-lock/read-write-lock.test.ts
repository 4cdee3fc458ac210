import { describe, expect, test } from '@jest/globals';
import { ReadWriteLock } from '@mortise/locks';
import type { Lease, LeaseLostError, ReadWriteLockOptions } from '@mortise/locks';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { abortOf } from '../fixture/abort-of.js';
import { fastestOf } from '../fixture/fastest-of.js';
import { queued } from '../fixture/queued.js';
import { roundTrips } from '../fixture/round-trips.js';

const [redis, other, third] = [connect(), connect(), connect()];

/** Resolves when all who wait listen: one that is let in before that is dropped, and comes back with a re-check. */
async function listening(): Promise<void> {
  await Promise.all([redis, other, third].map((client) => roundTrips(client)));
}

/** The same lock, as each of three processes sees it. */
function shared(options: ReadWriteLockOptions = {}): [ReadWriteLock, ReadWriteLock, ReadWriteLock] {
  const prefix = freshPrefix();
  const of = (client: typeof redis): ReadWriteLock =>
    new ReadWriteLock(client, 'lock', { prefix, ...options });
  return [of(redis), of(other), of(third)];
}

/** The holders so far, and how each of them leaves. */
class Visitors {
  readonly inside: string[] = [];
  readonly tokens: number[] = [];
  readonly #leases = new Map<string, Lease>();
  readonly #waits: Promise<unknown>[] = [];

  send(name: string, wait: Promise<Lease>): void {
    const come = async (): Promise<void> => {
      const lease = await wait;
      this.#leases.set(name, lease);
      this.inside.push(name);
      this.tokens.push(lease.fencingToken);
    };
    this.#waits.push(come().catch((error: unknown) => error));
  }

  async leave(name: string): Promise<boolean> {
    const lease = this.#leases.get(name)!;
    this.inside.splice(this.inside.indexOf(name), 1);
    return lease.release();
  }

  async areIn(...names: string[]): Promise<void> {
    await until(`${names.join()} to be in`, () => this.inside.length >= names.length);
    expect(this.inside.toSorted()).toEqual(names.toSorted());
  }
}

describe('acquire', () => {
  test('readers are in together, each with a token of its own, and a writer is in alone', async () => {
    const [lock, second, last] = shared();
    const readers = [await lock.read.acquire(), await second.read.acquire(), await lock.read.acquire()];
    const tokens = readers.map(({ fencingToken }) => fencingToken);
    expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b));
    expect(await last.write.tryAcquire()).toBeNull();
    for (const reader of readers) expect(await reader.release()).toBe(true);
    const writer = await last.write.acquire();
    expect(writer.fencingToken).toBeGreaterThan(tokens.at(-1)!);
    expect(await lock.read.tryAcquire()).toBeNull();
    expect(await lock.write.tryAcquire()).toBeNull();
    expect(await writer.release()).toBe(true);
  });

  test('a reader that comes after a writer that waits has to wait as well', async () => {
    const [lock, second, last] = shared();
    const visitors = new Visitors();
    const reader = await lock.read.acquire();
    visitors.send('writer', second.write.acquire());
    await queued(lock.read, 1);
    await listening();
    visitors.send('late reader', last.read.acquire());
    await queued(lock.read, 2);
    expect(await last.read.tryAcquire()).toBeNull();
    expect(visitors.inside).toEqual([]);
    await reader.release();
    await visitors.areIn('writer');
    await visitors.leave('writer');
    await visitors.areIn('late reader');
    await visitors.leave('late reader');
  });

  test('the last reader that leaves lets the writer in, not those before it', async () => {
    const [lock, second] = shared();
    const readers = [await lock.read.acquire(), await lock.read.acquire(), await second.read.acquire()];
    const wait = second.write.acquire();
    await queued(lock.read, 1);
    await listening();
    await readers[1]!.release();
    await readers[2]!.release();
    expect(await lock.read.inspect()).toMatchObject({ writer: null, readers: 1, queueLength: 1 });
    await readers[0]!.release();
    expect(await lock.read.inspect()).toMatchObject({ readers: 0, queueLength: 0 });
    const writer = await wait;
    expect((await lock.write.inspect()).writer).toBe(writer.holder);
    await writer.release();
  });

  test('a writer that leaves lets in the readers at the head together, up to the next writer', async () => {
    const locks = shared();
    const visitors = new Visitors();
    const writer = await locks[0].write.acquire();
    const kinds = ['read', 'read', 'read', 'write', 'read', 'write', 'write', 'read'] as const;
    for (const [index, kind] of kinds.entries()) {
      visitors.send(`${index} ${kind}`, locks[index % 3]![kind].acquire());
      await queued(locks[0].read, index + 1);
      await listening();
    }
    await writer.release();
    const phases = [
      ['0 read', '1 read', '2 read'],
      ['3 write'],
      ['4 read'],
      ['5 write'],
      ['6 write'],
      ['7 read'],
    ];
    for (const phase of phases) {
      await visitors.areIn(...phase);
      for (const name of phase) expect(await visitors.leave(name)).toBe(true);
    }
    expect(visitors.tokens).toHaveLength(kinds.length);
    expect(new Set(visitors.tokens).size).toBe(kinds.length);
    expect(await locks[0].read.inspect()).toMatchObject({ writer: null, readers: 0, queueLength: 0 });
  });

  test('grants in the order of the requests of one tick', async () => {
    const [lock] = shared();
    const phases: string[] = [];
    const indexes = Array.from({ length: 150 }, (_, index) => index);
    await Promise.all(
      indexes.map((index) =>
        index % 3 === 0
          ? lock.write.using(() => void phases.push(`${index}`))
          : lock.read.using(() => void phases.push(`behind ${index - (index % 3)}`)),
      ),
    );
    expect(phases).toEqual(
      indexes.map((index) => (index % 3 === 0 ? `${index}` : `behind ${index - (index % 3)}`)),
    );
  });

  test('more readers than one script lets in come in as well', async () => {
    const [lock, second] = shared();
    const visitors = new Visitors();
    const writer = await lock.write.acquire();
    const names = Array.from({ length: 150 }, (_, index) => `reader ${index}`);
    for (const name of names) visitors.send(name, second.read.acquire());
    await queued(lock.read, 150);
    await listening();
    await writer.release();
    // The release went on until all were in; nobody had to wait for a re-check.
    expect(await lock.read.inspect()).toMatchObject({ readers: 150, queueLength: 0 });
    await visitors.areIn(...names);
    expect(visitors.tokens).toEqual([...new Set(visitors.tokens)].toSorted((a, b) => a - b));
    for (const name of names) await visitors.leave(name);
    expect(await lock.write.tryAcquire().then((last) => last?.release())).toBe(true);
  });

  test('no update is lost, and nobody reads while somebody writes', async () => {
    const prefix = freshPrefix();
    const counter = `${prefix}:counter`;
    const inside = { read: 0, write: 0 };
    const seen: { side: string; read: number; write: number }[] = [];
    const contenders = Array.from({ length: 6 }, () => connect());
    await Promise.all(
      contenders.map(async (client, index) => {
        const lock = new ReadWriteLock(client, 'lock', { prefix });
        for (let round = 0; round < 20; round += 1) {
          const side = (round + index) % 3 === 0 ? 'write' : 'read';
          await lock[side].using(async () => {
            inside[side] += 1;
            const before = Number(await client.get(counter));
            seen.push({ side, ...inside });
            if (side === 'write') await client.set(counter, before + 1);
            inside[side] -= 1;
          });
        }
      }),
    );
    expect(await redis.get(counter)).toBe('40');
    expect(seen.filter(({ read, write }) => write > 0 && read + write > 1)).toEqual([]);
    expect(Math.max(...seen.map(({ read }) => read))).toBeGreaterThan(1);
  });

  test('readers that overlap without end do not starve a writer', async () => {
    const [lock, second, last] = shared();
    await last.write.using(() => undefined);
    const written = new AbortController();
    let reads = 0;
    const stream = [lock, second].map(async ({ read }) => {
      let next = await read.acquire();
      while (!written.signal.aborted) {
        // The next one is asked for while this one is still held.
        const wait = read.acquire();
        if (reads > 0) await Promise.race([wait, last.read.inspect()]);
        await next.release();
        next = await wait;
        reads += 1;
      }
      await next.release();
    });
    await until('the stream', () => reads > 20);
    const readsBefore = reads;
    await last.write.using(() => written.abort());
    await Promise.all(stream);
    // Some come before the command of the writer arrives. Without an order it would wait for good.
    expect(reads - readsBefore).toBeLessThanOrEqual(20);
  });

  test('writers that follow one another without end do not starve a reader', async () => {
    const [lock, second, last] = shared();
    // Its subscription and its scripts are there before the stream.
    await last.read.using(() => undefined);
    const read = new AbortController();
    let writes = 0;
    const stream = [lock, second].map(async ({ write }) => {
      while (!read.signal.aborted) {
        await write.using(() => {
          writes += 1;
        });
      }
    });
    await until('the stream', () => writes > 20);
    const writesBefore = writes;
    await last.read.using(() => read.abort());
    await Promise.all(stream);
    expect(writes - writesBefore).toBeLessThanOrEqual(20);
  });

  test('a writer that gives up lets in the readers after it at once', async () => {
    const giveUp = async (): Promise<number> => {
      const [lock, second, last] = shared();
      await using reader = await lock.read.acquire();
      const controller = new AbortController();
      const given = second.write.acquire({ signal: controller.signal }).catch((error: unknown) => error);
      await queued(lock.read, 1);
      const waits = [last.read.acquire(), last.read.acquire()];
      await queued(lock.read, 3);
      await listening();
      const startedAt = performance.now();
      controller.abort('enough');
      const leases = await Promise.all(waits);
      const tookMs = performance.now() - startedAt;
      expect([reader.isValid, ...leases.map(({ isValid }) => isValid)]).toEqual([true, true, true]);
      expect(await given).toBe('enough');
      for (const lease of leases) await lease.release();
      return tookMs;
    };
    // Without a message they would wait for the re-check.
    expect(await fastestOf(5, giveUp)).toBeLessThan(800);
  });

  test('a reader that acquires write waits for itself, and times out', async () => {
    const [lock] = shared();
    await using reader = await lock.read.acquire();
    expect(await lock.write.tryAcquire()).toBeNull();
    await expect(lock.write.acquire({ waitMs: 50 })).rejects.toMatchObject({ code: 'ERR_LOCK_TIMEOUT' });
    expect(reader.isValid).toBe(true);
  });
});

describe('leases', () => {
  test.each(['read', 'write'] as const)('%s: one that died costs its lease', async (side) => {
    const lateBy = async (): Promise<number> => {
      const prefix = freshPrefix();
      const dying = new ReadWriteLock(redis, 'lock', { prefix, leaseMs: 300, renew: false });
      const dead = await dying[side].acquire();
      const lock = new ReadWriteLock(other, 'lock', { prefix });
      const waits = [lock.write.acquire(), lock.read.acquire(), lock.read.acquire()];
      const writer = await waits[0]!;
      const lateMs = performance.now() - dead.expiresAt;
      expect(lateMs).toBeGreaterThan(-5);
      await writer.release();
      for (const wait of waits.slice(1)) expect(await (await wait).release()).toBe(true);
      return lateMs;
    };
    // The first re-check comes with the end of the lease.
    expect(await fastestOf(5, lateBy)).toBeLessThan(500);
  });

  test('a reader that died beside others ends by itself, and the others go on', async () => {
    const prefix = freshPrefix();
    const [lock, second] = [redis, other].map((client) => new ReadWriteLock(client, 'lock', { prefix })) as [
      ReadWriteLock,
      ReadWriteLock,
    ];
    await new ReadWriteLock(third, 'lock', { prefix, leaseMs: 200, renew: false }).read.acquire();
    const reader = await lock.read.acquire();
    const wait = second.write.acquire();
    await queued(lock.read, 1);
    await until('the end of the dead one', async () => (await lock.read.inspect()).readers === 1);
    expect((await lock.read.inspect()).firstReaders).toEqual([reader.holder]);
    await reader.release();
    const writer = await wait;
    expect(writer.isValid).toBe(true);
    await writer.release();
  });

  test('the last reader that lives lets the writer in, whatever dead ones are beside it', async () => {
    const prefix = freshPrefix();
    const lock = new ReadWriteLock(redis, 'lock', { prefix });
    const reader = await lock.read.acquire();
    const wait = new ReadWriteLock(other, 'lock', { prefix }).write.acquire();
    await queued(lock.read, 1);
    // The re-check that follows the subscription has been.
    await roundTrips(other);
    await redis.zadd(`${prefix}:locks:{lock}:readers`, 1, 'dead.1.1000.r');
    expect(await reader.release()).toBe(true);
    // At once, not after the second of a re-check.
    const { writer } = await lock.read.inspect();
    expect(writer).toBe((await wait).holder);
    await (await wait).release();
  });

  test('a reader that is granted by a message confirms its claim', async () => {
    const [lock, second] = shared({ leaseMs: 60_000 });
    const writer = await lock.write.acquire();
    const wait = second.read.acquire();
    await queued(lock.read, 1);
    await listening();
    await writer.release();
    const reader = await wait;
    expect(reader.expiresAt - performance.now()).toBeLessThanOrEqual(1_000);
    await until('the confirmation', async () => (await lock.read.inspect()).remainingMs > 30_000);
    expect(reader.isValid).toBe(true);
    expect(await reader.release()).toBe(true);
  });
});

describe('downgrade', () => {
  test('makes a reader of the writer, with a greater token', async () => {
    const [lock, second] = shared();
    const writer = await lock.write.acquire();
    const reader = await writer.downgrade();
    expect(reader.fencingToken).toBeGreaterThan(writer.fencingToken);
    expect([writer.isValid, reader.isValid]).toEqual([false, true]);
    expect(writer.signal.aborted).toBe(false);
    const state = await lock.read.inspect();
    expect(state).toMatchObject({ writer: null, readers: 1, firstReaders: [reader.holder] });
    const beside = await second.read.tryAcquire();
    expect(beside?.isValid).toBe(true);
    expect(await second.write.tryAcquire()).toBeNull();
    await beside?.release();
    // The former writer's lease changes nothing.
    expect(await writer.release()).toBe(false);
    await expect(writer.renew()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'released' });
    expect((await lock.read.inspect()).readers).toBe(1);
    expect(await reader.release()).toBe(true);
    expect((await lock.read.inspect()).readers).toBe(0);
  });

  test('takes the readers at the head of the queue in with it, and nobody who writes gets in between', async () => {
    const [lock, second, last] = shared();
    const visitors = new Visitors();
    const writer = await lock.write.acquire();
    const arrivals = [second.read, last.read, last.write, second.read] as const;
    for (const [index, side] of arrivals.entries()) {
      visitors.send(`${index}`, side.acquire());
      await queued(lock.read, index + 1);
    }
    await listening();
    const reader = await writer.downgrade();
    // At once, not after the second of a re-check.
    expect(await lock.read.inspect()).toMatchObject({ writer: null, readers: 3, queueLength: 2 });
    await visitors.areIn('0', '1');
    await visitors.leave('0');
    await visitors.leave('1');
    expect(await lock.read.inspect()).toMatchObject({ writer: null, readers: 1, queueLength: 2 });
    await reader.release();
    await visitors.areIn('2');
    await visitors.leave('2');
    await visitors.areIn('3');
    await visitors.leave('3');
  });

  test('further calls give the same lease, and so do calls of one tick', async () => {
    const [lock] = shared();
    const writer = await lock.write.acquire();
    const [first, second] = await Promise.all([writer.downgrade(), writer.downgrade()]);
    expect(second).toBe(first);
    expect(await writer.downgrade()).toBe(first);
    expect((await lock.read.inspect()).readers).toBe(1);
    await first.release();
  });

  test('the reader is renewed, the writer no more', async () => {
    const [lock, second] = shared({ leaseMs: 4_000 });
    const writer = await lock.write.acquire();
    const { signal } = writer;
    const reader = await writer.downgrade();
    const { expiresAt } = reader;
    await until('a renewal', () => reader.expiresAt > expiresAt);
    expect([reader.isValid, signal.aborted]).toEqual([true, false]);
    expect(await second.write.tryAcquire()).toBeNull();
    expect(await reader.release()).toBe(true);
  });

  test('is refused after the release, and a release waits for a downgrade on its way', async () => {
    const [lock] = shared();
    const writer = await lock.write.acquire();
    await writer.release();
    await expect(writer.downgrade()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'released' });
    const next = await lock.write.acquire();
    const [reader, released] = await Promise.all([next.downgrade(), next.release()]);
    expect([reader.isValid, released]).toEqual([true, false]);
    expect((await lock.read.inspect()).readers).toBe(1);
    await reader.release();
  });

  test('of a writer that was forced out is refused, and tells its signal', async () => {
    const [lock, second] = shared();
    const writer = await lock.write.acquire();
    const { signal } = writer;
    await second.write.forceRelease();
    await expect(writer.downgrade()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'taken' });
    expect(signal.aborted).toBe(true);
    expect(await writer.release()).toBe(false);
    expect((await lock.read.inspect()).readers).toBe(0);
  });

  test('of a lease that is over is refused', async () => {
    const [lock] = shared({ leaseMs: 50, renew: false });
    const writer = await lock.write.acquire();
    await until('the end', () => !writer.isValid);
    await expect(writer.downgrade()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'expired' });
  });

  test.each(['downgrade', 'force'])(
    'that meets a forced release: whoever comes first succeeds (%s)',
    async (first) => {
      const [lock, second, last] = shared();
      for (let round = 0; round < 10; round += 1) {
        const writer = await lock.write.acquire();
        const wait = last.write.acquire();
        await queued(second.read, 1);
        const calls = { downgrade: () => writer.downgrade(), force: () => second.write.forceRelease() };
        const downgrade = first === 'downgrade' ? calls.downgrade() : undefined;
        const force = calls.force();
        const [downgraded, forced] = await Promise.allSettled([downgrade ?? calls.downgrade(), force]);
        const isForced = forced.status === 'fulfilled' && forced.value;
        // Two connections: the one that sent first need not be served first.
        expect(downgraded.status).toBe(isForced ? 'rejected' : 'fulfilled');
        expect((await second.read.inspect()).readers).toBe(isForced ? 0 : 1);
        const reader = downgraded.status === 'fulfilled' ? downgraded.value : undefined;
        expect(await reader?.release()).toBe(isForced ? undefined : true);
        expect(await (await wait).release()).toBe(true);
      }
    },
  );
});

describe('using', () => {
  test('a section that wrote may go on reading', async () => {
    const [lock, second] = shared();
    const reader = await lock.write.using((_, lease) => lease.downgrade());
    expect(reader.isValid).toBe(true);
    expect((await second.read.inspect()).firstReaders).toEqual([reader.holder]);
    await reader.release();
  });
});

describe('inspect', () => {
  test('shows who is in and who waits, the same from both sides', async () => {
    const [lock, second, last] = shared();
    const nobody = {
      writer: null,
      readers: 0,
      firstReaders: [],
      fencingToken: null,
      remainingMs: 0,
      queueLength: 0,
      longestWaitMs: 0,
      position: null,
    };
    expect(await lock.read.inspect()).toEqual(nobody);
    const readers = [await lock.read.acquire(), await lock.read.acquire()];
    const waits: Promise<Lease>[] = [lock.write.acquire()];
    await queued(lock.read, 1);
    waits.push(second.read.acquire());
    await queued(lock.read, 2);
    const state = await second.write.inspect();
    expect(state).toEqual({
      ...nobody,
      readers: 2,
      firstReaders: expect.arrayContaining(readers.map(({ holder }) => holder)),
      fencingToken: readers[1]!.fencingToken,
      remainingMs: expect.any(Number),
      queueLength: 2,
      longestWaitMs: expect.any(Number),
      position: 2,
    });
    expect(state.remainingMs).toBeGreaterThan(5_000);
    expect((await lock.read.inspect()).position).toBe(1);
    expect((await last.read.inspect()).position).toBeNull();
    for (const reader of readers) await reader.release();
    for (const wait of waits) await (await wait).release();
  });

  test('names a hundred readers at most, and counts all', async () => {
    const [lock, second] = shared();
    const readers = await Promise.all(Array.from({ length: 130 }, () => lock.read.acquire()));
    expect(new Set(readers.map(({ fencingToken }) => fencingToken)).size).toBe(130);
    const state = await second.read.inspect();
    expect(state.readers).toBe(130);
    expect(state.firstReaders).toHaveLength(100);
    await Promise.all(readers.map((reader) => reader.release()));
    expect((await second.read.inspect()).readers).toBe(0);
  });
});

describe('forceRelease', () => {
  test('takes the lock from all readers', async () => {
    const [lock, second] = shared({ leaseMs: 4_000 });
    const readers = [await lock.read.acquire(), await second.read.acquire()];
    const areOver = Promise.all(readers.map(({ signal }) => abortOf(signal)));
    const wait = second.write.acquire();
    await queued(lock.read, 1);
    expect(await lock.write.forceRelease()).toBe(false);
    expect(await lock.read.forceRelease()).toBe(true);
    const writer = await wait;
    await areOver;
    expect(readers.map(({ signal }) => (signal.reason as LeaseLostError).reason)).toEqual(['taken', 'taken']);
    expect(await writer.release()).toBe(true);
  });
});

describe('renewFor and releaseFor', () => {
  test('keep a lease for somebody else, on both sides', async () => {
    const [lock, second] = shared({ leaseMs: 20_000, renew: false });
    for (const side of ['read', 'write'] as const) {
      const { holder } = await lock[side].acquire();
      expect(await second[side].renewFor(holder, 60_000)).toBe(true);
      expect((await second.read.inspect()).remainingMs).toBeGreaterThan(30_000);
      expect(await second[side].renewFor(holder)).toBe(true);
      // A renewal never shortens a lease.
      expect((await second.read.inspect()).remainingMs).toBeGreaterThan(30_000);
      expect(await second[side].releaseFor(holder)).toBe(true);
      expect(await second[side].releaseFor(holder)).toBe(false);
      expect(await second[side].renewFor(holder)).toBe(false);
    }
  });

  test('refuse what is no holder of this side', async () => {
    const [lock] = shared();
    const [reader, writer] = [await lock.read.acquire(), 'a'.repeat(16) + '.1.1000.w'];
    for (const holder of ['', '*', '*.r', 'lost', writer, `${reader.holder}.r`, null, 7]) {
      await expect(lock.read.renewFor(holder as string)).rejects.toThrow(TypeError);
      await expect(lock.read.releaseFor(holder as string)).rejects.toThrow(TypeError);
    }
    await expect(lock.write.releaseFor(reader.holder)).rejects.toThrow(
      "holder must be that of a writer's lease",
    );
    await expect(lock.read.renewFor(reader.holder, 9)).rejects.toThrow(RangeError);
    expect(await reader.release()).toBe(true);
  });
});
