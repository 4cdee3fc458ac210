/** The commands that each call sends, and the commands inside its script: an added round trip shows in review. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { CountDownLatch, MultiLock, Mutex, RateLimiter, ReadWriteLock, Semaphore } from '@mortise/locks';
import type { Lease, MultiLease } from '@mortise/locks';
import {
  commands,
  commandTable,
  freshPrefix,
  monitor,
  runServer,
  transcript,
  until,
} from '@mortise/test-kit';
import * as scripts from '../src/scripts.gen.js';
import type { Kind, Subject } from './fixture/lock-kinds.js';
import { KINDS, semaphoreOf, SINGLE } from './fixture/lock-kinds.js';
import { queued } from './fixture/queued.js';
import { watchFor } from './fixture/watch-for.js';

const prefix = freshPrefix();
const options = { prefix };
/** Without renewals, which come with time. */
const calm = { prefix, renew: false };
const enforcing = await runServer({ isCluster: true });
const plain = await runServer();
const { redis, server } = enforcing;
const { redis: plainRedis } = plain;
const clients = Array.from({ length: 10 }, () => enforcing.connect());

/** Five of the ten processes take one permit, and five take both. */
const POOL: Kind = {
  kind: 'Semaphore of two permits',
  make: (client, name, given) => {
    const pool = semaphoreOf(2)(client, `${name} of two`, given);
    const permits = 1 + (clients.indexOf(client) % 2);
    return {
      ...pool,
      acquire: () => pool.acquire({ permits: 2 }),
      using: (section) => pool.using(section, { permits }),
    };
  },
};

/** Leaves out commands, and the commands inside their scripts. */
function without(lines: readonly string[], isLeftOut: (command: string) => boolean): string[] {
  let isKept = true;
  return lines.filter((line) => {
    if (!line.startsWith(' ')) isKept = !isLeftOut(line);
    return isKept;
  });
}

const scope = {
  prefix,
  scripts,
  edit: (lines: readonly string[]) => lines.map((line) => line.replace(/grant:\S+/, 'grant')),
};
/** Without re-checks and renewals, which come with time: on a busy machine some fall into any test. */
const untimed = {
  ...scope,
  edit: (lines: readonly string[]) =>
    without(scope.edit(lines), (command) => /\.(?:recheck|renew|inspect)$/.test(command)),
};

/** The scripts that the calls of an action send. */
async function sentBy(action: () => Promise<unknown>, client = redis): Promise<string> {
  // A new client asks its server once what it is, at a time of its own.
  const edit = (lines: readonly string[]): string[] =>
    without(scope.edit(lines), (command) => /^info\b/.test(command));
  return commands(client, { ...scope, edit, show: 'outside' }, action);
}

/** The names of the locks of a MultiLock in each call, in their order. */
async function namesIn(client: typeof redis, action: () => Promise<unknown>): Promise<string[]> {
  const lines = await transcript(client, scope, action);
  return lines
    .filter((line) => /^evalsha \S+\.(?:acquire|release) /.test(line))
    .map((line) => Array.from(line.matchAll(/\{(\w+)\}:lease/g), ([, name]) => name).join(' '));
}

async function statsOf(section: string, target = server): Promise<Map<string, number>> {
  const info = String(await target.command('INFO', section));
  return new Map(
    Array.from(info.matchAll(/^(?:cmd|error)stat_(\w+):\w+=(\d+)/gm), ([, name, n]) => [name!, Number(n)]),
  );
}

/** Uses every script once, and lets ten processes subscribe: the first use sends the text, the first wait subscribes. */
async function warmUp(
  { make }: Kind,
  { connect, others = clients }: { connect: () => typeof redis; others?: typeof clients },
) {
  const lock = make(connect(), 'lock', options);
  const lease = await lock.acquire();
  await lease.renew();
  const waits = others.map((client) => make(client, 'lock', options).acquire());
  await queued(lock, others.length);
  await lease.release();
  await Promise.all(waits.map(async (wait) => (await wait).release()));
}

beforeAll(async () => {
  for (const kind of SINGLE) await warmUp(kind, enforcing);
  const multi = KINDS.find(({ kind }) => kind === 'MultiLock')!;
  for (const servers of [enforcing, plain]) await warmUp(multi, { ...servers, others: [servers.connect()] });
  await (await (await new ReadWriteLock(redis, 'lock', options).write.acquire()).downgrade()).release();
  await new Semaphore(redis, 'warm', { prefix, permits: 2 }).setPermits(2);
});

describe('free locks', () => {
  test('Mutex', async () => {
    const mutex = new Mutex(redis, 'free', calm);
    const unfenced = new Mutex(redis, 'plain', { ...calm, fencing: false });
    let lease: Lease | null = null;
    const table = commandTable(redis, scope, {
      acquire: async () => (lease = await mutex.acquire()),
      renew: () => lease!.renew(),
      'tryAcquire of a held one': () => mutex.tryAcquire(),
      inspect: () => mutex.inspect(),
      release: () => lease!.release(),
      tryAcquire: () => mutex.tryAcquire(),
      forceRelease: () => mutex.forceRelease(),
      'forceRelease of a free one': () => mutex.forceRelease(),
      'without fencing': () => unfenced.using(() => 1),
    });
    expect(await table).toMatchInlineSnapshot(`
"acquire → mutex.acquire:  exists queue · set lease · time · get token · set token
renew → mutex.renew:  get lease · pexpire lease
tryAcquire of a held one → mutex.acquire:  exists queue · set lease · get lease · pttl lease
inspect → mutex.inspect:  get lease · zrange queue · get token · pttl lease · zcard queue · zrank queue
release → mutex.release:  get lease · zcard queue · del lease
tryAcquire → mutex.acquire:  exists queue · set lease · time · get token · setrange token
forceRelease → get lease | mutex.release:  get lease · zcard queue · exists token · zrange queue · del lease
forceRelease of a free one → get lease
without fencing → mutex.acquire:  exists queue · set lease | mutex.release:  get lease · zcard queue · del lease"
`);
  });

  test('ReadWriteLock', async () => {
    const { read, write } = new ReadWriteLock(redis, 'free', calm);
    let lease: Lease | null = null;
    let reader: Lease | undefined;
    const table = commandTable(redis, scope, {
      'read.acquire': async () => (lease = await read.acquire()),
      'renew of a reader': () => lease!.renew(),
      inspect: () => read.inspect(),
      'read.acquire beside a reader': () => read.acquire(),
      'release of a reader': () => lease!.release(),
      'read.forceRelease': () => read.forceRelease(),
      'write.acquire': async () => (lease = await write.acquire()),
      'renew of a writer': () => lease!.renew(),
      'tryAcquire of a held one': () => write.tryAcquire(),
      'release of a writer': () => lease!.release(),
      'acquire, then downgrade': async () => (reader = await (await write.acquire()).downgrade()),
      'release after it': () => reader!.release(),
    });
    expect(await table).toMatchInlineSnapshot(`
"read.acquire → read-write-lock.acquire:  time · exists write rw-queue · set rw-token · zadd readers · pexpire readers
renew of a reader → read-write-lock.renew:  time · zscore readers · zadd readers · pexpire readers
inspect → read-write-lock.inspect:  time · get rw-token · get write · pttl write · zrange readers · zcount readers · zscore readers · zrange rw-queue · zcard rw-queue · zrank rw-queue · zrange readers
read.acquire beside a reader → read-write-lock.acquire:  time · exists write rw-queue · set rw-token · zadd readers · pexpire readers ×2
release of a reader → read-write-lock.release:  zrem readers · exists rw-queue
read.forceRelease → zrange readers | read-write-lock.release:  zrem readers · exists rw-queue
write.acquire → read-write-lock.acquire:  time · exists write rw-queue · exists readers · set rw-token · set write
renew of a writer → read-write-lock.renew:  time · get write · pexpire write
tryAcquire of a held one → read-write-lock.acquire:  time · exists write rw-queue · get write · exists rw-queue · pttl write
release of a writer → read-write-lock.release:  get write · del write · exists rw-queue
acquire, then downgrade → read-write-lock.acquire:  time · exists write rw-queue · exists readers · set rw-token · set write | read-write-lock.downgrade:  zscore readers · get write · time · get rw-token · set rw-token · zadd readers · pexpire readers · del write · exists rw-queue
release after it → read-write-lock.release:  zrem readers · exists rw-queue"
`);
  });

  test('Semaphore', async () => {
    const semaphore = new Semaphore(redis, 'free', { ...calm, permits: 2 });
    const leases: Lease[] = [];
    const take = async () => leases.push(await semaphore.acquire());
    await take();
    await leases.pop()!.release();
    const table = commandTable(redis, scope, {
      acquire: take,
      'acquire beside a holder': take,
      'tryAcquire of a full one': () => semaphore.tryAcquire(),
      renew: () => leases[0]!.renew(),
      inspect: () => semaphore.inspect(),
      available: () => semaphore.available(),
      release: () => leases[0]!.release(),
      'forceRelease of a lost one': () => semaphore.forceRelease(leases[0]!.holder),
      releaseFor: () => semaphore.releaseFor(leases[1]!.holder),
      'renewFor of a lost one': () => semaphore.renewFor(leases[1]!.holder),
      setPermits: () => semaphore.setPermits(3),
    });
    expect(await table).toMatchInlineSnapshot(`
"acquire → semaphore.acquire:  get permits-state · time · zrange permits-queue · zadd permits · set permits-state · pexpire permits
acquire beside a holder → semaphore.acquire:  get permits-state · time · zrange permits · zrange permits-queue · zadd permits · set permits-state · pexpire permits
tryAcquire of a full one → semaphore.acquire:  get permits-state · time · zrange permits · zscore permits
renew → semaphore.renew:  get permits-state · time · zscore permits · zadd permits · set permits-state · pexpire permits
inspect → semaphore.inspect:  get permits-state · time · zrange permits · exists permits · zrange permits-queue · zcard permits-queue · zrank permits-queue · zrange permits
available → semaphore.inspect:  get permits-state · time · zrange permits · exists permits · zrange permits-queue · zcard permits-queue · zrank permits-queue
release → semaphore.release:  get permits-state · zrem permits · exists permits-queue · set permits-state
forceRelease of a lost one → semaphore.release:  get permits-state · zscore permits · zrem permits
releaseFor → semaphore.release:  get permits-state · zscore permits · zrem permits · time · exists permits-queue · set permits-state
renewFor of a lost one → semaphore.renew:  get permits-state · time · zscore permits
setPermits → semaphore.set-permits:  get permits-state · time · zrange permits-queue · set permits-state · pexpire permits-state"
`);
  });

  test('MultiLock of two slots on a node without slots', async () => {
    const lock = new MultiLock(plainRedis, ['a', 'b'], calm);
    expect(lock.names).toEqual(['b', 'a']);
    await lock.using(() => 1);
    let lease: MultiLease | null = null;
    const table = commandTable(plainRedis, scope, {
      acquire: async () => (lease = await lock.acquire()),
      renew: () => lease!.renew(),
      'tryAcquire of a held one': () => lock.tryAcquire(),
      release: () => lease!.release(),
      tryAcquire: async () => (lease = await lock.tryAcquire()),
      'release after it': () => lease!.release(),
    });
    expect(await table).toMatchInlineSnapshot(`
"acquire → multi-lock.acquire:  time · exists lease queue lease queue · (set lease · get token · setrange token) ×2
renew → mutex.renew:  (get lease · pexpire lease) ×2
tryAcquire of a held one → multi-lock.acquire:  time · exists lease queue lease queue · get lease · pttl lease
release → mutex.release:  (get lease · zcard queue · del lease) ×2
tryAcquire → multi-lock.acquire:  time · exists lease queue lease queue · (set lease · get token · setrange token) ×2
release after it → mutex.release:  (get lease · zcard queue · del lease) ×2"
`);
    expect(await namesIn(plainRedis, () => lock.using(() => 1))).toEqual(['b a', 'a b']);
  });
});

test('RateLimiter', async () => {
  const [calls, twin] = [1, 2].map(
    () => new RateLimiter(redis, 'calls', { prefix, limit: 10, periodMs: 86_400_000 }),
  ) as [RateLimiter, RateLimiter];
  await calls.take(0);
  const table = commandTable(redis, scope, {
    take: () => calls.take(10),
    'take that is refused': () => calls.take(),
    'take of 0': () => calls.take(0),
    peek: () => calls.peek(),
    inspect: () => RateLimiter.inspect(redis, 'calls', { prefix }),
    reset: () => calls.reset(),
    'takes of two objects': () => Promise.all([calls.take(), twin.take()]),
    'takes of one tick': () => Promise.all([calls.take(), calls.take(7), calls.take(0)]),
  });
  expect(await table).toMatchInlineSnapshot(`
"take → rate-limiter.take:  time · get rate · set rate
take that is refused → rate-limiter.take:  time · get rate
take of 0 → rate-limiter.take:  time · get rate
peek → rate-limiter.peek | eval_ro rate:  time · get rate
inspect → rate-limiter.peek:  time · get rate
reset → rate-limiter.take:  time · get rate · del rate
takes of two objects → rate-limiter.take:  time · get rate · set rate
takes of one tick → rate-limiter.take:  time · get rate · set rate"
`);
});

test('CountDownLatch', async () => {
  const known = new CountDownLatch(redis, 'known', { prefix, count: 1 });
  await known.countDown();
  await known.reset();
  const gate = new CountDownLatch(redis, 'gate', { prefix, count: 5 });
  const table = commandTable(redis, scope, {
    'countDown with an id': () => gate.countDown({ id: 'a' }),
    'countDowns of one tick': () => Promise.all([gate.countDown(), gate.countDown()]),
    remaining: () => gate.remaining(),
    'countDown to 0': () => gate.countDown({ by: 2 }),
    'countDown of an open one': () => gate.countDown(),
    reset: () => gate.reset(),
  });
  expect(await table).toMatchInlineSnapshot(`
"countDown with an id → count-down-latch.count:  hmget latch · time · hset latch · unlink latch-ids · sadd latch-ids · hset latch · pexpire latch · pexpire latch-ids
countDowns of one tick → count-down-latch.count:  hmget latch · hset latch · pexpire latch · pexpire latch-ids
remaining → hmget latch
countDown to 0 → count-down-latch.count:  hmget latch · hset latch · pexpire latch · unlink latch-ids · publish latch-updates
countDown of an open one → count-down-latch.count:  hmget latch
reset → hget latch | count-down-latch.reset:  hget latch · unlink latch latch-ids · publish latch-updates"
`);
});

describe('locks with waiters', () => {
  test('the first wait of a process subscribes and re-checks', async () => {
    const rows: string[] = [];
    for (const [{ kind, make }, recheck, queue] of [
      [SINGLE[0]!, scripts.mutexRecheck, 'queue'],
      [SINGLE[2]!, scripts.semaphoreRecheck, 'permits-queue'],
    ] as const) {
      const holder = await make(redis, 'first', options).acquire();
      const lock = make(clients[0]!, 'first', options);
      const controller = new AbortController();
      let rechecks = 0;
      // One follows the subscription; a later one may fall into any moment.
      const edit = (lines: readonly string[]): string[] =>
        without(scope.edit(lines), (command) => {
          if (command.endsWith('.recheck')) rechecks += 1;
          return /\.(?:inspect|renew)$/.test(command) || (command.endsWith('.recheck') && rechecks > 1);
        });
      const sent = commands(clients[0]!, { ...scope, edit }, async () => {
        const { seen } = await watchFor(redis, recheck.sha1, `${prefix}:locks:{first}:${queue}`);
        const wait = lock.acquire({ signal: controller.signal });
        void wait.catch(() => undefined);
        await seen;
        controller.abort(new Error('enough'));
        await expect(wait).rejects.toThrow('enough');
        await queued(make(clients[1]!, 'first', options), 0);
      });
      rows.push(`${kind} → ${await sent}`);
      await holder.release();
    }
    expect(rows.join('\n')).toMatchInlineSnapshot(`
"Mutex → mutex.acquire:  exists queue · set lease · get lease · zrange queue · time · zadd queue · pttl lease · pexpire queue
subscribe grant
mutex.recheck:  get lease · zadd queue · pexpire queue · time · pttl lease
mutex.release:  get lease · zcard queue · zrem queue
Semaphore of one permit → semaphore.acquire:  get permits-state · time · zrange permits · zscore permits · zrange permits-queue · zadd permits-queue · pexpire permits-queue · set permits-state
subscribe permits-grant
semaphore.recheck:  get permits-state · time · zscore permits · zadd permits-queue · pexpire permits-queue · zrange permits
semaphore.release:  get permits-state · zscore permits · zrem permits · zrem permits-queue · exists permits-queue"
`);
  });

  test('a hand-off is one command for the request and one for the release, and the grant is a message', async () => {
    const rows: string[] = [];
    for (const { kind, make } of SINGLE) {
      await warmUp({ kind, make }, enforcing);
      const [first, second] = clients.map((client) => make(client, 'lock', options)) as [Subject, Subject];
      const holder = await first.acquire();
      const sent = commands(clients[0]!, untimed, async () => {
        const wait = second.acquire();
        // The wait itself ends with its grant. Both requests are of one tick of one process, so they share a command.
        await make(clients[1]!, 'lock', options).tryAcquire();
        await holder.release();
        await (await wait).release();
      });
      rows.push(`${kind} → ${await sent}`);
    }
    expect(rows.join('\n')).toMatchInlineSnapshot(`
"Mutex → mutex.acquire:  exists queue · set lease · get lease · pttl lease · set lease · get lease · zrange queue · time · zadd queue · pexpire queue
mutex.release:  get lease · zcard queue · zrange queue · pubsub grant · time · get token · setrange token · publish grant · set lease · zrem queue
mutex.release:  get lease · zcard queue · del lease
ReadWriteLock.write → read-write-lock.acquire:  time · exists write rw-queue · get write · exists rw-queue · zrange rw-queue · zadd rw-queue · pexpire rw-queue · pttl write
read-write-lock.release:  get write · del write · exists rw-queue · exists write · time · get rw-token · zrange rw-queue · exists readers · pubsub rw-grant · publish rw-grant · zremrangebyrank rw-queue · set write · set rw-token
read-write-lock.release:  get write · del write · exists rw-queue
Semaphore of one permit → semaphore.acquire:  get permits-state · time · zrange permits · zscore permits ×2 · zrange permits-queue · zadd permits-queue · pexpire permits-queue · set permits-state
semaphore.release:  get permits-state · zrem permits · exists permits-queue · time · zrange permits-queue · zrem permits-queue · pubsub permits-grant · publish permits-grant · zadd permits · set permits-state · pexpire permits
semaphore.release:  get permits-state · zrem permits · exists permits-queue · set permits-state"
`);
  });

  test('a lock of a MultiLock that is not free costs one command more, once its channel is open', async () => {
    const [client, other] = [plain.connect(), plain.connect()];
    const lock = new MultiLock(client, ['a', 'b'], options);
    const mutex = new Mutex(other, 'a', options);
    const handOff = async (): Promise<void> => {
      const holder = await mutex.acquire();
      const wait = lock.acquire();
      await queued(mutex, 1);
      await holder.release();
      await (await wait).release();
    };
    await handOff();
    const sent = commands(client, { ...untimed, show: 'outside' }, handOff);
    expect(await sent).toMatchInlineSnapshot(`
"mutex.acquire
(multi-lock.acquire · mutex.release) ×2"
`);
    expect(await namesIn(client, handOff)).toEqual(['a', 'b a', 'a', 'b a', 'a b']);
  });

  test('one command grants a read lock to fifty readers, and looks at them once', async () => {
    const locks = clients.map((client) => new ReadWriteLock(client, 'lock', options));
    const writer = await locks[0]!.write.acquire();
    const waits = Array.from({ length: 50 }, (_, index) => locks[index % 10]!.read.acquire());
    await queued(locks[0]!.read, 50);
    let leases: Lease[] = [];
    const sent = commands(clients[0]!, untimed, async () => {
      await writer.release();
      leases = await Promise.all(waits);
    });
    expect(await sent).toMatchInlineSnapshot(
      `"read-write-lock.release:  get write · del write · exists rw-queue · exists write · time · get rw-token · (zrange rw-queue · pubsub rw-grant · publish rw-grant) ×2 · (pubsub rw-grant · publish rw-grant) ×48 · zremrangebyrank rw-queue · zadd readers · pexpire readers · set rw-token"`,
    );
    expect(new Set(leases.map(({ fencingToken }) => fencingToken)).size).toBe(50);
    await Promise.all(leases.map((lease) => lease.release()));
  });

  test('a heavy waiter that gives up is one command, which grants permits to the next one', async () => {
    const [first, second] = clients.map(
      (client) => new Semaphore(client, 'pool', { prefix, permits: 2 }),
    ) as [Semaphore, Semaphore];
    const held = await first.acquire();
    const controller = new AbortController();
    const heavy = second.acquire({ permits: 2, signal: controller.signal });
    await queued(first, 1);
    const light = first.acquire();
    await queued(first, 2);
    const sent = commands(clients[1]!, untimed, async () => {
      controller.abort(new Error('enough'));
      await expect(heavy).rejects.toThrow('enough');
      await light;
    });
    expect(await sent).toMatchInlineSnapshot(
      `"semaphore.release:  get permits-state · zscore permits · zrem permits · zrem permits-queue · exists permits-queue · time · zrange permits · zrange permits-queue · zrem permits-queue · pubsub permits-grant · publish permits-grant · zadd permits · set permits-state · pexpire permits"`,
    );
    expect(await (await light).release()).toBe(true);
    expect(await held.release()).toBe(true);
  });

  test.each([...SINGLE, POOL])(
    'ten processes that share a $kind send two commands for each acquisition',
    async (kind) => {
      await warmUp(kind, enforcing);
      const before = await statsOf('commandstats');
      const seen: string[] = [];
      const names = new Map(Object.values(scripts).map(({ sha1, definition }) => [sha1, definition.name]));
      const close = await monitor(redis, ({ command, args }) => {
        if (command === 'evalsha') seen.push(names.get(args[0]!) ?? args[0]!);
      });
      let acquisitions = 0;
      const startedAt = performance.now();
      await Promise.all(
        clients.map(async (client) => {
          const lock = kind.make(client, 'lock', options);
          for (let round = 0; round < 20; round += 1) await lock.using(() => (acquisitions += 1));
        }),
      );
      // A waiter re-checks after a second, and requests again a grant that was on its way for half a second.
      const extras = 20 * Math.floor((performance.now() - startedAt) / 500);
      const releases = (): number => seen.filter((name) => name.endsWith('.release')).length;
      await until('all commands to be seen', () => releases() >= 200);
      close();
      const after = await statsOf('commandstats');
      expect([acquisitions, releases()]).toEqual([200, 200]);
      expect(seen.length).toBeGreaterThanOrEqual(400);
      expect(seen.length).toBeLessThanOrEqual(400 + extras);
      for (const name of ['eval', 'subscribe', 'ping']) expect(after.get(name)).toBe(before.get(name));
    },
  );
});

describe('calls of one tick', () => {
  test('of one lock are one command, and so are the waiters that give up', async () => {
    const mutex = new Mutex(redis, 'many', options);
    const controller = new AbortController();
    const { signal } = controller;
    let leases: Promise<unknown>[] = [];
    const asked = await sentBy(async () => {
      leases = Array.from({ length: 30 }, () => mutex.acquire({ signal }));
      await leases[0];
    });
    await queued(mutex, 29);
    const left = await sentBy(async () => {
      controller.abort();
      await Promise.allSettled(leases);
      await queued(mutex, 0);
    });
    expect(asked.split('\n').filter((line) => line.includes('acquire'))).toEqual(['mutex.acquire']);
    expect(left.split('\n').filter((line) => line.includes('release'))).toEqual(['mutex.release']);
  });

  test.each([
    { kind: 'Semaphore', locks: [new Semaphore(redis, 'many', { prefix, permits: 30 })], client: redis },
    {
      kind: 'Mutex',
      locks: [1, 2, 3].map((n) => new Mutex(plainRedis, `lock ${n}`, options)),
      client: plainRedis,
    },
    {
      kind: 'MultiLock',
      locks: [1, 2, 3].map((n) => new MultiLock(plainRedis, [`x${n}`, `y${n}`], options)),
      client: plainRedis,
    },
  ])('of $kind are one command each to acquire, renew and release', async ({ kind, locks, client }) => {
    let leases: (Lease | MultiLease)[] = [];
    const times = kind === 'Semaphore' ? 30 : 1;
    const all = Array.from({ length: times }, () => locks).flat();
    const turn = (): Promise<string> =>
      sentBy(async () => {
        leases = await Promise.all(all.map((lock) => lock.acquire()));
        await Promise.all(leases.map((lease) => lease.renew()));
        expect(await Promise.all(leases.map((lease) => lease.release()))).toEqual(all.map(() => true));
      }, client);
    await turn();
    expect((await turn()).split('\n').map((line) => line.split('.')[1])).toEqual([
      'acquire',
      'renew',
      'release',
    ]);
  });

  test('fail alone if one key has a foreign type', async () => {
    const mutexes = ['a', 'foreign', 'b'].map((name) => new Mutex(plainRedis, name, options));
    await plainRedis.lpush(`${prefix}:locks:{foreign}:lease`, 'x');
    const outcomes = await Promise.allSettled(mutexes.map((mutex) => mutex.acquire()));
    const wrongType = { reason: { message: expect.stringContaining('WRONGTYPE') } };
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[1]).toMatchObject(wrongType);
    const leases = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    // The queue of one of them gets a foreign type while they are held.
    await plainRedis.set(`${prefix}:locks:{b}:queue`, 'x');
    const releases = await Promise.allSettled(leases.map((lease) => lease.release()));
    expect(releases).toMatchObject([{ value: true }, wrongType]);
  });
});

describe('a node that enforces its slots', () => {
  test('refuses the first call of a client once; the callers do not notice', async () => {
    const client = enforcing.connect();
    const mutexes = [1, 2, 3, 4, 5].map((n) => new Mutex(client, `slot ${n}`, options));
    const before = await statsOf('commandstats');
    const leases = await Promise.all(mutexes.map((mutex) => mutex.acquire()));
    await Promise.all(leases.map((lease) => lease.release()));
    const after = await statsOf('commandstats');
    expect(leases.map((lease) => lease.fencingToken > 0)).toEqual([true, true, true, true, true]);
    expect(after.get('evalsha')! - before.get('evalsha')!).toBe(10);
  });

  test('gets one command for each slot of a MultiLock', async () => {
    const client = enforcing.connect();
    const lock = new MultiLock(client, ['a', 'b', 'c'], options);
    const refusals = async (): Promise<number> => (await statsOf('errorstats')).get('CROSSSLOT') ?? 0;
    const before = await refusals();
    let lease: MultiLease | null = null;
    const acquired = await sentBy(async () => (lease = await lock.acquire()), client);
    expect(await refusals()).toBe(before + 1);
    expect(acquired).toBe('multi-lock.acquire ×3');
    expect(await sentBy(() => lease!.renew(), client)).toBe('mutex.renew ×3');
    expect(await sentBy(() => lease!.release(), client)).toBe('mutex.release ×3');
    const order = await namesIn(client, () => lock.using(() => 1));
    expect(order).toEqual([...lock.names, ...lock.names.toReversed()]);
    await new MultiLock(client, ['d', 'e'], options).using(() => undefined);
    expect(await refusals()).toBe(before + 1);
  });

  test('lets clients learn that from renewFor and releaseFor, too', async () => {
    const make = (): MultiLock => new MultiLock(enforcing.connect(), ['a', 'b'], options);
    const { holder } = await make().acquire();
    expect(await make().renewFor(holder)).toBe(true);
    const lock = make();
    expect(await lock.releaseFor(holder)).toBe(true);
    expect(await lock.tryAcquire().then((lease) => lease?.release())).toBe(true);
  });

  test('gets one renewal for each slot, for all locks in it', async () => {
    const mutexes = ['slot a', 'slot b'].map((name) => new Mutex(redis, name, options));
    const readers = new ReadWriteLock(redis, 'slot a', options).read;
    const leases = [
      ...(await Promise.all(mutexes.map((mutex) => mutex.acquire()))),
      await readers.acquire(),
      await readers.acquire(),
    ];
    expect(
      await commands(redis, scope, () =>
        Promise.all(leases.flatMap((lease) => [lease.renew(), lease.renew()])),
      ),
    ).toMatchInlineSnapshot(`
"(mutex.renew:  (get lease · pexpire lease) ×2) ×2
read-write-lock.renew:  time · (zscore readers · zadd readers · pexpire readers) ×4"
`);
    await Promise.all(leases.map((lease) => lease.release()));
  });
});
