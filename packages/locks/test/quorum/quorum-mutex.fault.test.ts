import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { QuorumMutex, QuorumUnreachableError } from '@mortise/locks/quorum';
import { disconnect, freshPrefix, until } from '@mortise/test-kit';
import { abortOf } from '../fixture/abort-of.js';
import { fastestOf } from '../fixture/fastest-of.js';
import { PATIENT, QuorumNodes, votesOf } from '../fixture/quorum-nodes.js';

const nodes = await QuorumNodes.start();
const direct = nodes.others();

afterEach(() => nodes.restartKilled());
afterAll(() => nodes.stop());

/** The vote by the server itself, whatever clients say. */
async function voteAt(index: number, prefix: string): Promise<string | null> {
  return direct[index]!.get(`${prefix}:locks:{lock}:vote`);
}

describe('a node that is killed', () => {
  test('costs nothing: locks are taken, handed on, renewed and given back', async () => {
    const [mutex, other] = nodes.mutexes([nodes.clients, nodes.others()]);
    const held = await mutex.acquire();
    await nodes.servers[1]!.kill();
    await held.renew();
    const wait = other.acquire();
    expect(await other.tryAcquire()).toBeNull();
    expect(await held.release()).toBe(true);
    const lease = await wait;
    expect(lease.isValid).toBe(true);
    await lease.renew();
    expect((await mutex.inspect()).votes[1]).toBeNull();
    expect((await mutex.inspect()).holder).toBe(lease.holder);
    expect(await lease.release()).toBe(true);
    for (let round = 0; round < 5; round += 1) await mutex.using(() => undefined);
    const controller = new AbortController();
    const still = await mutex.acquire();
    const waits = Array.from({ length: 5 }, () => other.acquire({ signal: controller.signal }).catch(String));
    controller.abort('enough');
    await Promise.all(waits);
    expect(await still.release()).toBe(true);
  });

  test('two of them refuse everybody in time, and give back what others got', async () => {
    const prefix = freshPrefix();
    const mutex = new QuorumMutex(nodes.clients, 'lock', { ...PATIENT, prefix });
    const lease = await new QuorumMutex(nodes.clients, 'other', {
      ...PATIENT,
      prefix,
      leaseMs: 60_000,
    }).acquire();
    await Promise.all([nodes.servers[0]!.kill(), nodes.servers[2]!.kill()]);
    const startedAt = performance.now();
    const refusal = await mutex.acquire({ waitMs: 4_000 }).catch((error: unknown) => error);
    // Nothing is waited for beyond that: neither the lease, nor the nodes.
    expect(performance.now() - startedAt).toBeLessThan(9_000);
    expect(refusal).toBeInstanceOf(QuorumUnreachableError);
    const { code, nodes: all, needed, causes, lockName } = refusal as QuorumUnreachableError;
    expect({ code, all, needed, lockName }).toEqual({
      code: 'ERR_QUORUM_UNREACHABLE',
      all: 3,
      needed: 2,
      lockName: 'lock',
    });
    expect(new Set(causes.keys())).toEqual(new Set([0, 2]));
    for (const cause of causes.values()) expect(cause).toBeInstanceOf(Error);
    await expect(mutex.tryAcquire()).rejects.toMatchObject({ code: 'ERR_QUORUM_UNREACHABLE' });
    await until('the vote of the third', async () => (await voteAt(1, prefix)) === null);
    await expect(mutex.inspect()).rejects.toMatchObject({ code: 'ERR_QUORUM_UNREACHABLE' });
    // A holder keeps its lock to the end, but can't know the outcome of a renewal or a release.
    await expect(lease.renew()).rejects.toMatchObject({ code: 'ERR_QUORUM_UNREACHABLE' });
    expect(lease.isValid).toBe(true);
    await expect(lease.release()).rejects.toMatchObject({ code: 'ERR_QUORUM_UNREACHABLE' });
  });

  test('the lease ends in time when no majority renews it', async () => {
    const [mutex] = nodes.mutexes([nodes.clients], { leaseMs: 4_000, nodeTimeoutMs: 500 });
    const lease = await mutex.acquire();
    const { signal } = lease;
    await Promise.all([nodes.servers[0]!.kill(), nodes.servers[2]!.kill()]);
    // They stay dead.
    const abortedAt = await abortOf(signal);
    expect(abortedAt).toBeGreaterThanOrEqual(lease.expiresAt);
    expect(signal.reason).toMatchObject({
      code: 'ERR_LEASE_LOST',
      reason: 'expired',
      cause: expect.objectContaining({ code: 'ERR_QUORUM_UNREACHABLE' }),
    });
  });

  test('votes again when it is back', async () => {
    const [mutex] = nodes.mutexes([nodes.clients]);
    await nodes.servers[1]!.kill();
    const lease = await mutex.acquire();
    await nodes.servers[1]!.restart();
    await until('its vote', async () => {
      await lease.renew();
      return (await votesOf(mutex))[1] === lease.holder;
    });
    expect(await lease.release()).toBe(true);
  });
});

describe('a node that hangs', () => {
  test('does not slow acquisitions down, and gets its late vote taken back', async () => {
    const prefix = freshPrefix();
    const mutex = new QuorumMutex(nodes.clients, 'lock', { prefix, nodeTimeoutMs: 5_000 });
    nodes.servers[2]!.pause();
    // It is waited for by nobody: not once for the time that it has.
    const turn = async (): Promise<number> => {
      const startedAt = performance.now();
      const lease = await mutex.acquire();
      expect(lease.isValid).toBe(true);
      expect(await lease.release()).toBe(true);
      return performance.now() - startedAt;
    };
    for (let round = 0; round < 5; round += 1) expect(await turn()).toBeLessThan(5_000);
    nodes.servers[2]!.resume();
    // It executes the first request now, and the later ones too.
    await until('its vote to be free', async () => (await voteAt(2, prefix)) === null);
    const lease = await mutex.acquire();
    await until('its vote', async () => (await voteAt(2, prefix)) === lease.holder);
    expect(await lease.release()).toBe(true);
    await until('its vote to be free', async () => (await voteAt(2, prefix)) === null);
  });

  test('costs its time limit once when it would decide, and nothing while it still owes an answer', async () => {
    const prefix = freshPrefix();
    const mutex = new QuorumMutex(nodes.clients, 'lock', { prefix, nodeTimeoutMs: 300 });
    // One of the other two nodes has given its vote to another holder.
    await nodes.clients[0]!.set(`${prefix}:locks:{lock}:vote`, 'somebody', 'PX', 60_000);
    nodes.servers[2]!.pause();
    const first = performance.now();
    await expect(mutex.tryAcquire()).rejects.toMatchObject({ code: 'ERR_QUORUM_UNREACHABLE' });
    expect(performance.now() - first).toBeGreaterThan(290);
    const refused = async (): Promise<number> => {
      const startedAt = performance.now();
      const refusal = await mutex.tryAcquire().catch((error: unknown) => error);
      const { causes } = refusal as QuorumUnreachableError;
      expect(causes.get(2)).toMatchObject({ message: 'the node did not reply within 300 ms' });
      return performance.now() - startedAt;
    };
    expect(await fastestOf(20, refused)).toBeLessThan(300);
    await until('the vote of the second', async () => (await voteAt(1, prefix)) === null);
    nodes.servers[2]!.resume();
    await until('its vote to be given back', async () => (await voteAt(2, prefix)) === null);
    await nodes.clients[0]!.del(`${prefix}:locks:{lock}:vote`);
    expect(await (await mutex.acquire()).release()).toBe(true);
  });
});

describe('replies that come late', () => {
  test('are never an acquired lock, and are given back on all nodes', async () => {
    const prefix = freshPrefix();
    const clients = nodes.proxies.map((proxy) => nodes.connect(proxy));
    await Promise.all(clients.map((client) => client.ping()));
    for (const proxy of nodes.proxies) proxy.delay({ repliesMs: 250 });
    // They are in time for the nodes' limit, but not for the lease.
    const mutex = new QuorumMutex(clients, 'lock', { prefix, leaseMs: 200, nodeTimeoutMs: 100 });
    await expect(mutex.tryAcquire()).rejects.toMatchObject({ code: 'ERR_QUORUM_UNREACHABLE' });
    await expect(mutex.acquire({ waitMs: 2_500 })).rejects.toMatchObject({ code: 'ERR_QUORUM_UNREACHABLE' });
    for (const proxy of nodes.proxies) await proxy.restore();
    await until('all votes to be free', async () => {
      const votes = await Promise.all([0, 1, 2].map((index) => voteAt(index, prefix)));
      return votes.every((vote) => vote === null);
    });
    const lease = await mutex.acquire();
    expect(lease.isValid).toBe(true);
    expect(await lease.release()).toBe(true);
  });

  test('a majority that is there after the end of the lease is none', async () => {
    const prefix = freshPrefix();
    const options = { prefix, leaseMs: 2_000, nodeTimeoutMs: 1_000, driftFactor: 0.5 };
    const mutex = new QuorumMutex(nodes.clients, 'lock', options);
    expect(await (await mutex.acquire()).release()).toBe(true);
    // 2,000 - 1,002 of drift leaves 998 ms, and the event loop is blocked for that long.
    const attempt = mutex.tryAcquire();
    await new Promise((resolve) => setImmediate(resolve));
    const blockedFrom = performance.now();
    while (performance.now() < blockedFrom + 1_010);
    expect(await attempt).toBeNull();
    await until('all votes to be free', async () => {
      const votes = await Promise.all([0, 1, 2].map((index) => voteAt(index, prefix)));
      return votes.every((vote) => vote === null);
    });
  });

  test('one slow node delays nobody', async () => {
    const prefix = freshPrefix();
    const slow = nodes.connect(nodes.proxies[0]!);
    await slow.ping();
    nodes.proxies[0]!.delay({ requestsMs: 1_500, repliesMs: 1_500 });
    const clients = [slow, nodes.clients[1]!, nodes.clients[2]!];
    const mutex = new QuorumMutex(clients, 'lock', { prefix, nodeTimeoutMs: 5_000 });
    const startedAt = performance.now();
    const lease = await mutex.acquire();
    expect(await lease.release()).toBe(true);
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    // Its vote is under way still: it comes after the lock was released, and then it is taken back.
    await until('the vote', async () => (await voteAt(0, prefix)) === lease.holder);
    await until('the vote to be free', async () => (await voteAt(0, prefix)) === null);
  });
});

test('clients that are closed end the wait', async () => {
  const [mutex, other] = nodes.mutexes([nodes.clients, nodes.others()]);
  const clients = nodes.others();
  const [closing] = nodes.mutexes([clients]);
  const lease = await mutex.acquire();
  expect(lease.isValid).toBe(true);
  const held = await closing.acquire();
  const wait = closing.acquire().catch((error: unknown) => error);
  for (const client of clients) disconnect(client);
  expect(await wait).toMatchObject({ code: 'ERR_QUORUM_UNREACHABLE' });
  await expect(closing.acquire()).rejects.toMatchObject({ code: 'ERR_QUORUM_UNREACHABLE' });
  await expect(held.release()).rejects.toMatchObject({ code: 'ERR_QUORUM_UNREACHABLE' });
  expect(await lease.release()).toBe(true);
  expect(await (await other.acquire()).release()).toBe(true);
});

test('a holder that dies costs its lease', async () => {
  const dying = nodes.others();
  const prefix = freshPrefix();
  const lost = await new QuorumMutex(dying, 'lock', {
    prefix,
    leaseMs: 400,
    nodeTimeoutMs: 200,
    renew: false,
  }).acquire();
  for (const client of dying) disconnect(client);
  const lease = await new QuorumMutex(nodes.clients, 'lock', { ...PATIENT, prefix }).acquire();
  // The drift is what the holder's lease was shorter.
  expect(lost.isValid).toBe(false);
  expect(lease.isValid).toBe(true);
  expect(await lease.release()).toBe(true);
});
