import { afterAll, describe, expect, test } from '@jest/globals';
import { LockTimeoutError, Mutex } from '@mortise/locks';
import { QuorumMutex } from '@mortise/locks/quorum';
import type { QuorumMutexOptions } from '@mortise/locks/quorum';
import { commands, connect, freshPrefix, until } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import { countVotes, majorityOf } from '../../src/quorum/count-votes.js';
import { driftOf } from '../../src/quorum/candidate.js';
import { LocalQueue } from '../../src/quorum/local-queue.js';
import * as scripts from '../../src/scripts.gen.js';
import { abortOf } from '../fixture/abort-of.js';
import { fastestOf } from '../fixture/fastest-of.js';
import { Occupants } from '../fixture/occupants.js';
import { PATIENT, QuorumNodes, votesOf } from '../fixture/quorum-nodes.js';

const nodes = await QuorumNodes.start();

afterAll(() => nodes.stop());

async function allFree(mutex: QuorumMutex): Promise<boolean> {
  return until('all votes to be free', async () => (await votesOf(mutex)).every((holder) => holder === null));
}

describe('the constructor', () => {
  test('wants an odd number of independent servers', () => {
    const [a, b, c] = nodes.clients as [Redis, Redis, Redis];
    const build = (clients: unknown) => (): QuorumMutex => new QuorumMutex(clients as Redis[], 'lock');
    for (const few of [[], [a], [a, b]]) expect(build(few)).toThrow(RangeError);
    expect(build([a, b, c, connect()])).toThrow(/must be odd, got 4/);
    expect(build(Array.from({ length: 17 }, () => a))).toThrow(RangeError);
    expect(build([a, b, a])).toThrow('clients[0] and clients[2] are the same server');
    expect(build([a, connect(nodes.servers[1]!.url), b])).toThrow(
      'clients[1] and clients[2] are the same server',
    );
    for (const bad of [undefined, null, a, 'abc', [a, b, undefined], [a, b, {}]]) {
      expect(build(bad)).toThrow(TypeError);
    }
    expect(build([a, b, c])()).toMatchObject({ name: 'lock' });
  });

  test.each<[QuorumMutexOptions, typeof Error]>([
    [{ nodeTimeoutMs: 0 }, RangeError],
    [{ nodeTimeoutMs: 5_001 }, RangeError],
    [{ nodeTimeoutMs: 1.5 }, RangeError],
    [{ driftFactor: -0.1 }, RangeError],
    [{ driftFactor: 0.6 }, RangeError],
    [{ driftFactor: Number.NaN }, RangeError],
    [{ driftFactor: '0' as never }, TypeError],
  ])('refuses %p', (options, type) => {
    expect(() => new QuorumMutex(nodes.clients, 'lock', options)).toThrow(type);
  });
});

describe('arithmetic', () => {
  test('the drift is a part of the lease and 2 ms', () => {
    expect(driftOf(10_000, 0.01)).toBe(102);
    expect(driftOf(10, 0)).toBe(2);
    expect(driftOf(10, 0.5)).toBe(7);
  });

  test('more than half is a majority', () => {
    expect([3, 5, 7, 15].map(majorityOf)).toEqual([2, 3, 4, 8]);
  });

  /** y: yes, n: no, e: an error, -: no answer yet. */
  function outcomeOf(answers: string): Promise<string> {
    const silent = new Promise<boolean>(() => undefined);
    const asks = Array.from(answers, (answer) => {
      if (answer === '-') return silent;
      return answer === 'e' ? Promise.reject(new Error('down')) : Promise.resolve(answer === 'y');
    });
    const decided = countVotes(asks, Boolean).then(({ isWon, isLost }) => {
      if (isWon) return 'won';
      return isLost ? 'lost' : 'unknown';
    });
    const open = new Promise<string>((resolve) => setImmediate(() => resolve('open')));
    return Promise.race([decided, open]);
  }

  test.each([
    ['yyy', 'won'],
    ['yny', 'won'],
    ['yy-', 'won'],
    ['yyny-', 'won'],
    ['nn-', 'lost'],
    ['nen', 'lost'],
    ['nenn-', 'lost'],
    ['yee', 'unknown'],
    ['nee', 'unknown'],
    ['yenen', 'unknown'],
    ['ee-', 'open'],
    ['ne-', 'open'],
    ['yyn--', 'open'],
  ])('%s is %s', async (answers, outcome) => {
    expect(await outcomeOf(answers)).toBe(outcome);
  });

  test('a lease counts from before the votes were asked for, without the drift', async () => {
    const [mutex] = nodes.mutexes([nodes.clients], { leaseMs: 10_000, driftFactor: 0.1, renew: false });
    const before = performance.now();
    const lease = await mutex.acquire();
    const after = performance.now();
    expect(lease.expiresAt).toBeGreaterThanOrEqual(before + 10_000 - 1_002);
    expect(lease.expiresAt).toBeLessThanOrEqual(after + 10_000 - 1_002);
    const { votes } = await mutex.inspect();
    for (const vote of votes) expect(performance.now() + vote!.remainingMs).toBeGreaterThan(lease.expiresAt);
    const renewedFrom = performance.now();
    await lease.renew();
    expect(lease.expiresAt).toBeGreaterThanOrEqual(renewedFrom + 10_000 - 1_002);
    expect(lease.expiresAt).toBeLessThanOrEqual(performance.now() + 10_000 - 1_002);
    await lease.release();
  });
});

describe('acquire', () => {
  test('takes the votes of all nodes, with one command each, and gives them back with one', async () => {
    const prefix = freshPrefix();
    const mutex = new QuorumMutex(nodes.clients, '}x', { ...PATIENT, prefix, leaseMs: 60_000 });
    let lease: Awaited<ReturnType<QuorumMutex['acquire']>>;
    const sent = (index: number, action: () => Promise<unknown>): Promise<string> =>
      commands(nodes.clients[index]!, { prefix, scripts }, action);
    const take = 'quorum-mutex.vote:  set vote · pexpire vote · pttl vote';
    const acquire = async (): Promise<void> => {
      lease = await mutex.acquire();
      await until('the third vote', async () => (await votesOf(mutex)).every(Boolean));
    };
    expect(await sent(0, async () => expect(await sent(2, acquire)).toContain(take))).toContain(take);
    for (const client of nodes.clients)
      expect(await client.keys(`${prefix}:*`)).toEqual([`${prefix}:locks:{%7Dx}:vote`]);
    expect(await sent(1, () => lease.renew())).toBe(
      'quorum-mutex.vote:  get vote · pexpire vote · pttl vote',
    );
    expect(await sent(1, () => lease.release())).toBe(
      'quorum-mutex.withdraw:  get vote · del vote · publish vote-updates',
    );
    await allFree(mutex);
    for (const client of nodes.clients) expect(await client.keys(`${prefix}:*`)).toEqual([]);
  });

  test('gives a lease as a Mutex does, but without a token', async () => {
    const [mutex] = nodes.mutexes([nodes.clients]);
    const lease = await mutex.acquire();
    expect(lease).toMatchObject({ fencingToken: 0, isValid: true });
    expect((await mutex.inspect()).holder).toBe(lease.holder);
    expect(await lease.release()).toBe(true);
    expect(await lease.release()).toBe(true);
    expect(lease.isValid).toBe(false);
    expect(await mutex.inspect()).toMatchObject({ holder: null });
    await expect(lease.renew()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'released' });
  });

  test('is woken by the release, long before it would look again', async () => {
    const others = nodes.others();
    const handOver = async (): Promise<number> => {
      const prefix = freshPrefix();
      const [mutex, other] = [nodes.clients, others].map(
        (clients) => new QuorumMutex(clients, 'lock', { ...PATIENT, prefix }),
      ) as [QuorumMutex, QuorumMutex];
      const lease = await mutex.acquire();
      const wait = other.acquire();
      await until('the subscriptions', async () => {
        const counts = await Promise.all(
          nodes.clients.map((client) => client.pubsub('CHANNELS', `${prefix}:*`)),
        );
        return counts.every((channels) => (channels as string[]).length > 0);
      });
      // It looks once more after it has subscribed, and then waits for news.
      const startedAt = performance.now();
      await lease.release();
      const next = await wait;
      const tookMs = performance.now() - startedAt;
      expect(await next.release()).toBe(true);
      return tookMs;
    };
    expect(await fastestOf(5, handOver)).toBeLessThan(900);
  });

  test('a waiter sends hardly any commands', async () => {
    const [mutex, other] = nodes.mutexes([nodes.clients, nodes.others()]);
    const lease = await mutex.acquire();
    const calls = async (): Promise<number> => {
      const info = await nodes.clients[0]!.info('commandstats');
      return Number(/cmdstat_evalsha:calls=(\d+)/.exec(info)?.[1]);
    };
    const waits = Array.from({ length: 20 }, () => other.acquire());
    const before = await calls();
    const startedAt = performance.now();
    await until('a second and a half', () => performance.now() > startedAt + 1_500);
    const sent = (await calls()) - before;
    const seconds = (performance.now() - startedAt) / 1_000;
    // One of the twenty waiters sends requests for all: at once, after its subscription, and each second; it gives votes back.
    expect(sent).toBeLessThan(9 + 2 * seconds);
    await lease.release();
    for (const wait of waits) await (await wait).release();
    expect(await allFree(mutex)).toBe(true);
  });

  test('rejects when its time is up, and leaves no vote behind', async () => {
    const [mutex, other] = nodes.mutexes([nodes.clients, nodes.others()]);
    const lease = await mutex.acquire();
    const refusal = await other.acquire({ waitMs: 60 }).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(LockTimeoutError);
    expect(refusal).toMatchObject({ code: 'ERR_LOCK_TIMEOUT', lockName: 'lock', waitMs: 60 });
    expect(await votesOf(mutex)).toEqual([lease.holder, lease.holder, lease.holder]);
    await lease.release();
    expect(await allFree(mutex)).toBe(true);
  });

  test('ends with its signal, also while the votes are under way', async () => {
    const [mutex, other] = nodes.mutexes([nodes.clients, nodes.others()]);
    const controller = new AbortController();
    const early = mutex.acquire({ signal: controller.signal });
    controller.abort(new Error('early'));
    await expect(early).rejects.toThrow('early');
    const lease = await mutex.acquire();
    const later = new AbortController();
    const waits = Array.from({ length: 3 }, () => other.acquire({ signal: later.signal }).catch(String));
    later.abort(new Error('later'));
    expect(await Promise.all(waits)).toEqual(Array.from({ length: 3 }, () => 'Error: later'));
    await lease.release();
    expect(await allFree(mutex)).toBe(true);
    await expect(mutex.acquire({ signal: AbortSignal.abort(new Error('never')) })).rejects.toThrow('never');
  });

  test('serves those of one process in their order', async () => {
    const [mutex] = nodes.mutexes([nodes.clients]);
    const order: number[] = [];
    const lease = await mutex.acquire();
    const waits = Array.from({ length: 8 }, (_, index) => mutex.using(() => order.push(index)));
    await lease.release();
    await Promise.all(waits);
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  test('is another lock than a Mutex of the same name', async () => {
    const prefix = freshPrefix();
    const lease = await new QuorumMutex(nodes.clients, 'lock', { ...PATIENT, prefix }).acquire();
    const single = await new Mutex(nodes.clients[0]!, 'lock', { prefix }).acquire();
    expect([lease.isValid, single.isValid]).toEqual([true, true]);
    await Promise.all([lease.release(), single.release()]);
  });
});

describe('many at once', () => {
  test('are alone in their sections, and all get in', async () => {
    const lists = Array.from({ length: 5 }, () => nodes.others());
    const mutexes = nodes.mutexes(lists);
    const occupants = new Occupants();
    let counter = 0;
    const worker = async (mutex: QuorumMutex): Promise<void> => {
      for (let round = 0; round < 6; round += 1) {
        await mutex.using(async (_, lease) => {
          const seen = counter;
          expect(occupants.enter(lease)).toBe(0);
          expect(lease.isValid).toBe(true);
          await new Promise((resolve) => setImmediate(resolve));
          counter = seen + 1;
          occupants.leave(lease);
        });
      }
    };
    await Promise.all(mutexes.flatMap((mutex) => [worker(mutex), worker(mutex)]));
    expect(counter).toBe(60);
    expect(await allFree(mutexes[0]!)).toBe(true);
  });

  test('try once, and at most one gets it', async () => {
    const mutexes = nodes.mutexes(Array.from({ length: 4 }, () => nodes.others()));
    for (let round = 0; round < 15; round += 1) {
      const leases = await Promise.all(mutexes.map((mutex) => mutex.tryAcquire()));
      const held = leases.filter((lease) => lease !== null);
      expect(held.length).toBeLessThanOrEqual(1);
      for (const lease of held) expect(await lease.release()).toBe(true);
      await allFree(mutexes[0]!);
    }
  });
});

describe('a lease', () => {
  test('is renewed in the background, on all nodes', async () => {
    const [mutex] = nodes.mutexes([nodes.clients], { leaseMs: 4_000 });
    const lease = await mutex.acquire();
    const { expiresAt } = lease;
    await until('a renewal', () => lease.expiresAt > expiresAt);
    expect(await votesOf(mutex)).toEqual([lease.holder, lease.holder, lease.holder]);
    expect(await lease.release()).toBe(true);
  });

  test('ends after maxHoldMs', async () => {
    const [mutex] = nodes.mutexes([nodes.clients], { leaseMs: 3_000, maxHoldMs: 3_500 });
    const before = performance.now();
    const lease = await mutex.acquire();
    const after = performance.now();
    const { expiresAt } = lease;
    const abortedAt = await abortOf(lease.signal);
    // It was renewed, but not beyond its limit; of both leases the drift is a part.
    expect(lease.expiresAt).toBeGreaterThan(expiresAt);
    expect(lease.expiresAt).toBeGreaterThanOrEqual(before + 3_500 - driftOf(3_500, 0.01));
    expect(lease.expiresAt).toBeLessThanOrEqual(after + 3_500);
    expect(abortedAt).toBeGreaterThanOrEqual(lease.expiresAt);
    expect(lease.signal.reason).toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'expired' });
    expect(await allFree(mutex)).toBe(true);
  });

  test('survives the loss of one vote, and gets it back', async () => {
    const prefix = freshPrefix();
    const mutex = new QuorumMutex(nodes.clients, 'lock', { ...PATIENT, prefix });
    const lease = await mutex.acquire();
    await nodes.clients[1]!.del(`${prefix}:locks:{lock}:vote`);
    await lease.renew();
    await until('the vote', async () => (await votesOf(mutex))[1] === lease.holder);
    expect(await lease.release()).toBe(true);
  });

  test('is lost with a majority', async () => {
    const prefix = freshPrefix();
    const mutex = new QuorumMutex(nodes.clients, 'lock', { ...PATIENT, prefix });
    const lease = await mutex.acquire();
    const { signal } = lease;
    for (const client of nodes.clients.slice(1)) await client.del(`${prefix}:locks:{lock}:vote`);
    await expect(lease.renew()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'taken' });
    expect([lease.isValid, signal.aborted]).toEqual([false, true]);
    expect(await lease.release()).toBe(false);
    expect(await allFree(mutex)).toBe(true);
  });

  test('is taken away by force, which wakes who waits', async () => {
    const [mutex, other] = nodes.mutexes([nodes.clients, nodes.others()]);
    const lease = await mutex.acquire();
    const wait = other.acquire();
    expect(await other.forceRelease()).toBe(true);
    const next = await wait;
    await expect(lease.renew()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'taken' });
    expect(await lease.release()).toBe(false);
    expect((await mutex.inspect()).holder).toBe(next.holder);
    expect(await next.release()).toBe(true);
    expect(await other.forceRelease()).toBe(false);
  });

  test('is kept and ended for others by its holder', async () => {
    const [mutex, other] = nodes.mutexes([nodes.clients, nodes.others()], { renew: false });
    const lease = await mutex.acquire();
    expect(await other.renewFor(lease.holder, 60_000)).toBe(true);
    await until('the third node', async () =>
      (await mutex.inspect()).votes.every((vote) => vote!.remainingMs > 30_000),
    );
    expect(await other.releaseFor(lease.holder)).toBe(true);
    expect(await other.releaseFor(lease.holder)).toBe(false);
    expect(await other.renewFor(lease.holder)).toBe(false);
    await expect(other.releaseFor('*')).rejects.toThrow(TypeError);
    await expect(other.renewFor('x')).rejects.toThrow(TypeError);
    await expect(other.renewFor(lease.holder, 0)).rejects.toThrow(RangeError);
    expect(await allFree(mutex)).toBe(true);
  });
});

describe('using', () => {
  test('gives the lock back whatever the section does', async () => {
    const [mutex] = nodes.mutexes([nodes.clients]);
    expect(await mutex.using((signal, lease) => [signal.aborted, lease.isValid])).toEqual([false, true]);
    await expect(
      mutex.using(() => {
        throw new Error('section');
      }),
    ).rejects.toThrow('section');
    await using lease = (await mutex.tryAcquire())!;
    expect(lease.isValid).toBe(true);
  });
});

test('a line calls one after the other, whoever leaves', () => {
  const client = nodes.clients[0]!;
  const called: string[] = [];
  const enter = (id: string): (() => void) => LocalQueue.of(client, 'line').enter(() => called.push(id));
  const [a, b, c, d] = [enter('a'), enter('b'), enter('c'), enter('d')];
  expect(called).toEqual(['a']);
  b();
  b();
  a();
  a();
  expect(called).toEqual(['a', 'c']);
  const e = enter('e');
  c();
  d();
  expect(called).toEqual(['a', 'c', 'd', 'e']);
  e();
  enter('f')();
  expect(called).toEqual(['a', 'c', 'd', 'e', 'f']);
});
