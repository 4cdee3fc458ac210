import { beforeAll, describe, expect, test } from '@jest/globals';
import { LockReplicasError, MultiLock, Mutex } from '@mortise/locks';
import type { Lease, MutexOptions } from '@mortise/locks';
import { Locks } from '@mortise/locks/nestjs';
import { disconnect, disconnectLater, freshPrefix, monitor, runServer, until } from '@mortise/test-kit';
import type { SeenCommand } from '@mortise/test-kit';
import { Redis } from 'ioredis';
import { Confirmations } from '../../src/replication/confirmations.js';
import { replicationConfirm } from '../../src/scripts.gen.js';
import { TIMED_OUT, waitFor } from '@mortise/redis';
import { queued } from '../fixture/queued.js';

const fast = ['--repl-diskless-sync-delay', '0'];
const { server: master, redis, connect } = await runServer({ args: fast });
const { server: replica, redis: copy } = await runServer({
  args: [...fast, '--replicaof', `${master.host} ${master.port}`],
});
const other = connect();
/** On a busy machine a replica may take longer than it has by default. */
const PATIENT = { replicasWaitMs: 5_000 };

beforeAll(async () => {
  await until('the replica', async () => (await redis.info('replication')).includes('state=online'));
});

/** A signal to a process takes effect a moment later; from then on nothing is acknowledged. */
async function pauseReplica(): Promise<void> {
  replica.pause();
  await until(
    'the replica to stand still',
    async () => (await waitFor(copy.ping(), { waitMs: 20 })) === TIMED_OUT,
  );
}

/** The connections of our own, as the server lists them. */
async function linksOf(name: string): Promise<string[]> {
  const list = String(await other.client('LIST'));
  return list.split('\n').filter((line) => line.includes(` name=${name}:mortise-replication `));
}

function connectAs(name: string): Redis {
  return disconnectLater(new Redis(master.url, { connectionName: name }));
}

function withAbort(): { readonly signal: AbortSignal; readonly abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort(new Error('enough')) };
}

const keyOf = (prefix: string, name = 'lock'): string => `${prefix}:locks:{${name}}:lease`;
const holderOf = async (prefix: string): Promise<string | null> =>
  (await new Mutex(other, 'lock', { prefix }).inspect()).holder;

describe('a grant that a replica acknowledges', () => {
  test.each([true, false])('is on the replica when the caller gets it, fair: %p', async (fair) => {
    const prefix = freshPrefix();
    const mutex = new Mutex(redis, 'lock', { ...PATIENT, prefix, fair, minReplicas: 1 });
    for (const take of [() => mutex.acquire(), () => mutex.tryAcquire()]) {
      const lease = (await take())!;
      expect(await copy.get(keyOf(prefix))).toBe(lease.holder);
      expect(await lease.release()).toBe(true);
    }
  });

  test('by message: the lease is a whole one, and no claim', async () => {
    const prefix = freshPrefix();
    const first = await new Mutex(other, 'lock', { prefix }).acquire();
    const mutex = new Mutex(redis, 'lock', {
      prefix,
      minReplicas: 1,
      replicasWaitMs: 4_000,
      leaseMs: 8_000,
      renew: false,
    });
    const wait = mutex.acquire();
    await queued(mutex, 1);
    const releasedAt = performance.now();
    await first.release();
    const lease = await wait;
    expect(await copy.get(keyOf(prefix))).toBe(lease.holder);
    expect(lease.expiresAt).toBeGreaterThanOrEqual(releasedAt + 8_000);
    expect(lease.expiresAt).toBeLessThanOrEqual(performance.now() + 8_000);
    expect(lease.fencingToken).toBeGreaterThan(first.fencingToken);
    expect(await lease.release()).toBe(true);
  });

  test('the time of the WAIT is a part of the lease', async () => {
    const prefix = freshPrefix();
    const mutex = new Mutex(redis, 'lock', { prefix, minReplicas: 1, replicasWaitMs: 5_000, renew: false });
    await pauseReplica();
    const startedAt = performance.now();
    const wait = mutex.acquire();
    let resumedAt: number;
    try {
      await until('the lease to be taken', async () => (await holderOf(prefix)) !== null);
      await until('half a second', () => performance.now() > startedAt + 500);
    } finally {
      resumedAt = performance.now();
      replica.resume();
    }
    const lease = await wait;
    expect(performance.now()).toBeGreaterThan(resumedAt);
    expect(lease.expiresAt).toBeLessThan(resumedAt + 10_000);
    expect(await lease.release()).toBe(true);
  });

  test('without fencing there is no token', async () => {
    const mutex = new Mutex(redis, 'lock', {
      ...PATIENT,
      prefix: freshPrefix(),
      minReplicas: 1,
      fencing: false,
    });
    const lease = await mutex.acquire();
    expect(lease.fencingToken).toBe(0);
    expect(await lease.release()).toBe(true);
  });

  test('tryAcquire gives null for a lock that is held, and asks no replica', async () => {
    const prefix = freshPrefix();
    const lease = await new Mutex(other, 'lock', { prefix }).acquire();
    expect(await new Mutex(redis, 'lock', { prefix, minReplicas: 100 }).tryAcquire()).toBeNull();
    expect(await lease.release()).toBe(true);
  });
});

describe('a grant that too few replicas acknowledge', () => {
  test('is refused when the replica stands still, and the lock is free', async () => {
    const prefix = freshPrefix();
    const mutex = new Mutex(redis, 'lock', { prefix, minReplicas: 1, replicasWaitMs: 200 });
    await pauseReplica();
    try {
      for (const take of [() => mutex.acquire(), () => mutex.tryAcquire()]) {
        const startedAt = performance.now();
        const error: unknown = await take().catch((refusal: unknown) => refusal);
        expect(error).toBeInstanceOf(LockReplicasError);
        expect(error).toMatchObject({
          code: 'ERR_LOCK_REPLICAS',
          lockName: 'lock',
          minReplicas: 1,
          acknowledged: 0,
          message: expect.stringContaining('lock "lock" was acknowledged by 0 of 1 replicas, and given back'),
        });
        // Not at the end of the lease.
        expect(performance.now() - startedAt).toBeLessThan(9_000);
        expect(performance.now() - startedAt).toBeGreaterThan(190);
        expect(await holderOf(prefix)).toBeNull();
      }
    } finally {
      replica.resume();
    }
    const lease = await new Mutex(redis, 'lock', { ...PATIENT, prefix, minReplicas: 1 }).acquire();
    expect(await lease.release()).toBe(true);
  });

  test('says how many there were, and goes to the next one that waits', async () => {
    const prefix = freshPrefix();
    const first = await new Mutex(other, 'lock', { prefix }).acquire();
    const demanding = new Mutex(redis, 'lock', { prefix, minReplicas: 2, replicasWaitMs: 1_500 }).acquire();
    const refused = demanding.catch((error: unknown) => error);
    await queued(new Mutex(other, 'lock', { prefix }), 1);
    const next = new Mutex(other, 'lock', { prefix }).acquire();
    await queued(new Mutex(other, 'lock', { prefix }), 2);
    await first.release();
    expect(await refused).toMatchObject({ code: 'ERR_LOCK_REPLICAS', minReplicas: 2, acknowledged: 1 });
    expect(await (await next).release()).toBe(true);
  });

  test('ends with the wait or the signal of the caller, whichever comes first', async () => {
    const prefix = freshPrefix();
    const mutex = new Mutex(connect(), 'lock', { prefix, minReplicas: 2, replicasWaitMs: 5_000 });
    await expect(mutex.acquire({ waitMs: 50 })).rejects.toMatchObject({ code: 'ERR_LOCK_TIMEOUT' });
    await until('the lock to be given back', async () => (await holderOf(prefix)) === null);
    const { signal, abort } = withAbort();
    const wait = mutex.acquire({ signal });
    const ended = wait.catch((error: unknown) => error);
    await until('the lock to be taken', async () => (await holderOf(prefix)) !== null);
    abort();
    expect(await ended).toMatchObject({ message: 'enough' });
    await until('the lock to be given back', async () => (await holderOf(prefix)) === null);
  });

  test('does not hold up one that wants fewer', async () => {
    const prefix = freshPrefix();
    const client = connect();
    const many = new Mutex(client, 'many', { prefix, minReplicas: 9, replicasWaitMs: 5_000 });
    const { signal, abort } = withAbort();
    const refused = many.acquire({ signal }).catch((error: unknown) => error);
    await until('the other to be taken', async () => (await other.exists(keyOf(prefix, 'many'))) === 1);
    const lease = await new Mutex(client, 'one', { ...PATIENT, prefix, minReplicas: 1 }).acquire();
    expect(await waitFor(refused, { waitMs: 1 })).toBe(TIMED_OUT);
    expect(await lease.release()).toBe(true);
    abort();
    expect(await refused).toMatchObject({ message: 'enough' });
  });
});

describe('the connection', () => {
  test('is another one than that of the caller, which goes on working', async () => {
    const prefix = freshPrefix();
    const name = prefix.replaceAll(/[^a-z\d]/g, '');
    const client = connectAs(name);
    const mutex = new Mutex(client, 'lock', { prefix, minReplicas: 2, replicasWaitMs: 4_000 });
    const refused = mutex.acquire().catch((error: unknown) => error);
    await until('a WAIT that blocks', async () =>
      (await linksOf(name)).some((line) => / flags=b /.test(line)),
    );
    const echoes = await Promise.all(['a', 'b', 'c'].map((text) => client.echo(text)));
    expect(echoes).toEqual(['a', 'b', 'c']);
    expect((await linksOf(name)).length).toBe(1);
    expect(await waitFor(refused, { waitMs: 1 })).toBe(TIMED_OUT);
    client.disconnect();
    // It ends with its client, and whoever waits with it.
    expect(await refused).toMatchObject({ code: 'ERR_LOCK_REPLICAS', cause: expect.any(Error) });
    await until('it to be closed', async () => (await linksOf(name)).length === 0);
  });

  test('is not opened without minReplicas', async () => {
    const name = freshPrefix().replaceAll(/[^a-z\d]/g, '');
    const client = connectAs(name);
    const lease = await new Mutex(client, 'lock', { prefix: freshPrefix(), minReplicas: 0 }).acquire();
    expect(await linksOf(name)).toEqual([]);
    expect(await lease.release()).toBe(true);
    disconnect(client);
  });

  test('carries the confirmations of many locks and one WAIT after them, and nothing else does', async () => {
    const prefix = freshPrefix();
    const client = connect();
    const warm = await new Mutex(client, 'warm', { ...PATIENT, prefix, minReplicas: 1 }).acquire();
    await warm.renew();
    await warm.release();
    const seen: SeenCommand[] = [];
    const end = await monitor(client, (command) => seen.push(command));
    const mutexes = Array.from(
      { length: 20 },
      (_, index) => new Mutex(client, `lock-${index}`, { ...PATIENT, prefix, minReplicas: 1, renew: false }),
    );
    const leases = await Promise.all(mutexes.map((mutex) => mutex.acquire()));
    await Promise.all(leases.map((lease) => lease.renew()));
    await Promise.all(leases.map((lease) => lease.release()));
    await client.echo(prefix);
    await until('all to be seen', () => seen.some(({ args }) => args[0] === prefix));
    end();
    const isConfirmation = ({ args }: SeenCommand): boolean =>
      args[0] === replicationConfirm.sha1 && args.some((arg) => arg.startsWith(prefix));
    const { source } = seen.find(isConfirmation)!;
    const ours = seen
      .filter((command) => command.source === source)
      .map(({ command, args }) => (command === 'wait' ? `wait ${args[0]}` : command));
    expect(ours.slice(0, 21)).toEqual([...Array<string>(20).fill('evalsha'), 'wait 1']);
    // Where replicas take longer than a tenth of a second it waits on.
    expect(ours.slice(21).filter((command) => command !== 'wait 1')).toEqual([]);
    // Each confirmation is a write, also within the millisecond of the grant.
    const writes = seen.filter(({ command, source: by }) => by === 'lua' && command === 'set');
    expect(writes.filter(({ args }) => args[0]!.endsWith(':lease')).length).toBe(40);
    const callers = seen.find(({ args }) => args[0] === prefix)!.source;
    expect(callers).not.toBe(source);
  });

  test('is opened again when it was lost', async () => {
    const prefix = freshPrefix();
    const name = prefix.replaceAll(/[^a-z\d]/g, '');
    const client = connectAs(name);
    const mutex = new Mutex(client, 'lock', { ...PATIENT, prefix, minReplicas: 1 });
    const kill = async (): Promise<string> => {
      const [line] = await until('the connection', async () => {
        const links = await linksOf(name);
        return links.length === 1 && links;
      });
      const [, id] = /^id=(\d+) /.exec(line!)!;
      await other.client('KILL', 'ID', id!);
      return id!;
    };
    expect(await (await mutex.acquire()).release()).toBe(true);
    await kill();
    let lease: Lease | undefined;
    // The first one may find that it is gone only when it uses it.
    await until('a lease', async () => {
      lease = await mutex.acquire().catch(() => undefined);
      return lease !== undefined;
    });
    expect(await lease!.release()).toBe(true);
    // While it waits, the next waiter learns it at once, and the lock is free.
    const refused = new Mutex(client, 'lock', { prefix, minReplicas: 2, replicasWaitMs: 5_000 })
      .acquire()
      .catch((error: unknown) => error);
    await until('a WAIT', async () => (await linksOf(name)).some((line) => / flags=b /.test(line)));
    await kill();
    expect(await refused).toMatchObject({
      code: 'ERR_LOCK_REPLICAS',
      acknowledged: 0,
      cause: expect.any(Error),
    });
    expect(await holderOf(prefix)).toBeNull();
    disconnect(client);
  });

  test('that is not answered is given up', async () => {
    const client = connect();
    const confirmations = Confirmations.of(client);
    const [lease, member] = [keyOf(freshPrefix()), 'a.1.1000'];
    const request = { lease, member, leaseMs: 10_000, minReplicas: 1, replicasWaitMs: 5_000 };
    await other.set(lease, member, 'PX', 60_000);
    expect(await confirmations.confirm(request)).toMatchObject({ acknowledged: 1 });
    // A longer lease is not made shorter.
    expect(await other.pttl(lease)).toBeGreaterThan(50_000);
    master.pause();
    try {
      await until(
        'it to stand still',
        async () => (await waitFor(other.ping(), { waitMs: 20 })) === TIMED_OUT,
      );
      const reply = await confirmations.confirm({ ...request, replicasWaitMs: 50 });
      expect(reply.acknowledged).toBe(0);
      expect(String(reply.cause)).toContain('the server did not answer in time');
    } finally {
      master.resume();
    }
    expect(await confirmations.confirm(request)).toMatchObject({ acknowledged: 1 });
    await other.set(lease, 'b.1.1000', 'PX', 60_000);
    const lost = await confirmations.confirm(request);
    expect(lost.acknowledged).toBe(0);
    expect(String(lost.cause)).toContain('was lost before its lease was confirmed');
    expect(await other.get(lease)).toBe('b.1.1000');
    await other.del(lease);
  });
});

describe('options', () => {
  test.each([
    { minReplicas: -1 },
    { minReplicas: 101 },
    { minReplicas: 1.5 },
    { minReplicas: Number.NaN },
    { minReplicas: Infinity },
    { minReplicas: 1, replicasWaitMs: 0 },
    { minReplicas: 1, replicasWaitMs: 5_001 },
    { minReplicas: 1, replicasWaitMs: 51, leaseMs: 100 },
    { replicasWaitMs: -1 },
  ])('refuses %p', (options) => {
    expect(() => new Mutex(redis, 'lock', options)).toThrow(RangeError);
  });

  test.each([{ minReplicas: '1' }, { minReplicas: null }, { minReplicas: true }, { replicasWaitMs: '5' }])(
    'refuses a value of another type: %p',
    (options) => {
      expect(() => new Mutex(redis, 'lock', options as unknown as MutexOptions)).toThrow(TypeError);
    },
  );

  test('short leases have a shorter default', () => {
    expect(new Mutex(redis, 'lock', { leaseMs: 10, minReplicas: 1 }).name).toBe('lock');
  });

  test('are refused where they would have no effect', () => {
    const refusal = 'MultiLock has no option "minReplicas"';
    const options: MutexOptions = { minReplicas: 1 };
    expect(() => new MultiLock(redis, ['lock'], options)).toThrow(refusal);
    expect(() => new Locks(redis, options).multiLock(['lock'])).toThrow(refusal);
    expect(new Locks(redis, { minReplicas: 0 }).multiLock(['lock']).names).toEqual(['lock']);
  });
});

test('a client that listens on a replica gets no grant: two holders would believe it', async () => {
  const prefix = freshPrefix();
  const channel = `${prefix}:locks:{lock}:grant:far`;
  const far = disconnectLater(new Redis(replica.url));
  const received: string[] = [];
  far.on('message', (_, message: string) => received.push(message));
  await far.subscribe(channel);
  const mutex = new Mutex(redis, 'lock', { prefix });
  const holder = await mutex.acquire();
  const wait = new Mutex(other, 'lock', { prefix }).acquire();
  await queued(mutex, 1);
  await redis.zadd(`${prefix}:locks:{lock}:queue`, 1, 'far.1.1000');
  await holder.release();
  const lease = await wait;
  // A message arrives there, though PUBLISH counts no receiver.
  expect(await redis.publish(channel, 'the last')).toBe(0);
  await until('the last message', () => received.includes('the last'));
  expect(received).toEqual(['the last']);
  await lease.release();
});
