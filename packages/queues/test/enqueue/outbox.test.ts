import { execFileSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { startProxy, startSingle } from '@mortise/redis-server';
import { connect, disconnect, freshPrefix, runExample, until } from '@mortise/test-kit';
import { Client } from 'pg';
import type { OutboxRelayOptions } from '../../examples/outbox/outbox-relay.js';
import { launch } from '../fixture/launch.js';
import { fork, kill } from '../fixture/processes.js';
import { OUTBOX, OutboxDatabase, postgres } from './outbox-database.js';
import type { Promised } from './outbox-database.js';

const REDIS = process.env['MORTISE_TEST_REDIS']!;
const server = postgres();
const redis = connect();

let database: OutboxDatabase;
let prefix: string;
let queue: Queue;
beforeEach(async () => {
  database = await OutboxDatabase.create(server());
  prefix = freshPrefix();
  queue = new Queue(redis, 'tasks', { prefix });
});
afterEach(() => {
  jest.restoreAllMocks();
});

/** Runs what is in the queue, one by one, until so many have run; returns their payloads in that order. */
async function run(count: number): Promise<unknown[]> {
  const payloads: unknown[] = [];
  const handlers = { task: async (payload: unknown) => void payloads.push(payload) };
  await launch(redis, 'tasks', handlers, { prefix, concurrency: 1 });
  await until(`${count} tasks to have run`, () => payloads.length >= count);
  return payloads;
}

describe('a transaction', () => {
  test('a committed one has its tasks run, under the ids of their rows; a rolled-back one has none', async () => {
    await database.pool.query('create table orders (id int primary key)');
    let ids: string[] = [];
    await database.transaction(async (client) => {
      await client.query('insert into orders values (1)');
      ids = await database.promise([{ payload: 'a' }, { payload: { b: [1, null] } }], client);
    });
    await expect(
      database.transaction(async (client) => {
        await database.promise([{ payload: 'never' }], client);
        await client.query('insert into orders values (1)');
      }),
    ).rejects.toThrow('duplicate key');

    database.relay(queue);
    await database.untilEmpty();

    expect(await queue.counts()).toMatchObject({ ready: 2 });
    const tasks = await Promise.all(ids.map((id) => queue.get(id)));
    expect(tasks.map((task) => task?.payload)).toEqual(['a', { b: [1, null] }]);
  });

  test('says with its options how a task is enqueued', async () => {
    const runAt = Date.now() + 60_000;
    const [id = ''] = await database.promise([
      { name: 'mail', payload: null, options: { priority: 'high', attempts: 2, runAt } },
    ]);

    database.relay(queue);
    await database.untilEmpty();

    expect(await queue.get(id)).toMatchObject({
      name: 'mail',
      priority: 'high',
      attempts: 2,
      state: 'scheduled',
    });
  });

  test('waits for another one that has written to the same group, and for no other', async () => {
    const entered: string[] = [];
    const insert = (client: { query: Client['query'] }, group: string): Promise<unknown> =>
      client.query(`insert into outbox (name, payload, options) values ('task', '1', $1)`, [{ group }]);
    const [first, second, third] = await Promise.all([0, 1, 2].map(() => database.pool.connect()));
    try {
      await first!.query('begin');
      await insert(first!, 'a');
      const sameGroup = insert(second!, 'a').then(() => entered.push('same'));
      await insert(third!, 'b').then(() => entered.push('other'));
      await until('the second one to wait', async () => {
        const { rows } = await database.pool.query(
          `select from pg_locks where locktype = 'advisory' and not granted`,
        );
        return rows.length === 1;
      });
      expect(entered).toEqual(['other']);

      await first!.query('commit');
      await sameGroup;

      expect(entered).toEqual(['other', 'same']);
    } finally {
      for (const client of [first, second, third]) client!.release();
    }
  });
});

describe('a relay', () => {
  test('an idle relay is notified of a commit', async () => {
    database.relay(queue, { recheckMs: 3_600_000 });
    await database.untilIdle();

    await database.promise([{ payload: 1 }]);

    await database.untilEmpty();
    expect(await queue.counts()).toMatchObject({ ready: 1 });
  });

  test('reads a commit that came while it was at work', async () => {
    const [first] = await database.promise([{ payload: 1 }]);
    let calls = 0;
    const slow: Pick<Queue, 'enqueueMany'> = {
      enqueueMany: async (tasks) => {
        calls += 1;
        if (calls === 1) await database.promise([{ payload: 2, options: { group: 'another lane' } }]);
        return queue.enqueueMany(tasks);
      },
    };
    database.relay(slow, { recheckMs: 3_600_000 });

    await database.untilEmpty();

    expect(await queue.get(first!)).toMatchObject({ payload: 1 });
    expect(await queue.counts()).toMatchObject({ ready: 2 });
  });

  test('a relay about to wait takes up rows committed meanwhile, without a notification', async () => {
    const notified: unknown[] = [];
    const listener = await database.pool.connect();
    listener.on('notification', (message) => notified.push(message));
    await listener.query('listen outbox');
    const slow = await database.pool.connect();
    await slow.query('begin');
    await database.promise([{ payload: 1 }], slow);
    database.relay(queue, { recheckMs: 3_600_000 });
    await until('a relay that waits for the end of the transaction', async () => {
      const { rows } = await database.pool.query(
        `select from pg_locks where locktype = 'advisory' and not granted`,
      );
      return rows.length === 1;
    });

    await slow.query('commit');

    await database.untilEmpty();
    await listener.query('select 1');
    expect(notified).toEqual([]);
    for (const client of [slow, listener]) client.release(true);
  });

  test('gets notifications only while it waits: commits that notify wait for each other', async () => {
    const notified: unknown[] = [];
    const listener = await database.pool.connect();
    listener.on('notification', (message) => notified.push(message));
    await listener.query('listen outbox');
    await database.promise([{ payload: 1 }]);
    await listener.query('select 1');
    expect(notified).toEqual([]);
    database.relay(queue, { recheckMs: 3_600_000 });
    await database.untilIdle();

    await database.promise([{ payload: 2 }]);

    await until('a notification', async () => {
      await listener.query('select 1');
      return notified.length === 1;
    });
    await database.untilEmpty();
    listener.release(true);
  });

  test('a relay without notifications looks again after recheckMs, and not before', async () => {
    const recheckMs = 150;
    const looks: number[] = [];
    // oxlint-disable-next-line typescript/unbound-method -- called with the client as this
    const { query } = Client.prototype;
    jest.spyOn(Client.prototype, 'query').mockImplementation(function (this: Client, ...args: unknown[]) {
      if (args[0] === 'begin') looks.push(performance.now());
      return Reflect.apply(query, this, args) as never;
    });
    await database.pool.query('drop trigger outbox_wake on outbox');
    database.relay(queue, { recheckMs });
    await until('five looks', () => looks.length >= 5);
    // Two looks at first: one more when commits are announced.
    const pauses = looks.slice(2).map((at, index) => at - looks[index + 1]!);
    expect(pauses.filter((pause) => pause < recheckMs - 2)).toEqual([]);

    await database.promise([{ payload: 1 }]);

    await database.untilEmpty();
  });

  test('is one of many: each task is enqueued once, those of a group in the order of their commits', async () => {
    const GROUPS = 12;
    const WRITERS = 8;
    const EACH = 40;
    const sent: string[][] = [];
    for (let n = 0; n < 4; n += 1) {
      const own: string[] = [];
      sent.push(own);
      const counted: Pick<Queue, 'enqueueMany'> = {
        enqueueMany: async (tasks) => {
          own.push(...tasks.map(({ options }) => options!.id!));
          return queue.enqueueMany(tasks);
        },
      };
      database.relay(counted);
    }
    await database.pool.query(
      `create table counters as select g as id, 0 as n from generate_series(0, ${GROUPS - 1}) as g`,
    );

    let total = 0;
    await Promise.all(
      Array.from({ length: WRITERS }, async (_, writer) => {
        for (let round = 0; round < EACH; round += 1) {
          const group = (writer * 7 + round * 5) % GROUPS;
          await database
            .transaction(async (client) => {
              // The counter of the group says in which order its transactions commit.
              const { rows } = await client.query<{ n: number }>(
                'update counters set n = n + 1 where id = $1 returning n',
                [group],
              );
              const payload = { group, n: rows[0]!.n };
              await database.promise(
                [{ payload, options: { group: `group ${group}` } }, { payload: 'none' }],
                client,
              );
              if (round % 10 === 9) throw new Error('changed my mind');
            })
            .then(
              () => (total += 2),
              (error: Error) => expect(error.message).toBe('changed my mind'),
            );
        }
      }),
    );
    await database.untilEmpty();

    const ids = sent.flat();
    expect([ids.length, new Set(ids).size]).toEqual([total, total]);
    expect(sent.filter((own) => own.length > 0).length).toBeGreaterThan(1);
    const payloads = (await run(total)).filter((payload) => payload !== 'none') as {
      group: number;
      n: number;
    }[];
    for (let group = 0; group < GROUPS; group += 1) {
      const order = payloads.filter((payload) => payload.group === group).map(({ n }) => n);
      expect(order).toEqual(Array.from(order, (_, index) => index + 1));
    }
  });

  test('moves more than one batch, oldest first within a group', async () => {
    const payloads = Array.from({ length: 200 }, (_, n) => n);
    await database.promise(payloads.map((payload) => ({ payload, options: { group: 'g' } })));

    database.relay(queue);
    await database.untilEmpty();

    expect(await run(200)).toEqual(payloads);
  });

  test('does not run a task again that it enqueues a second time, also when the queue has forgotten it', async () => {
    const [id] = await database.promise([{ payload: 1 }]);
    const runs: unknown[] = [];
    const handlers = { task: async (payload: unknown) => void runs.push(payload) };
    database.relay(queue);
    await launch(redis, 'tasks', handlers, { prefix, concurrency: 1, keepSucceeded: 0 });
    await until('the task to have run and to be forgotten', async () => {
      return runs.length === 1 && (await queue.get(id!)) === null;
    });
    // The relay deletes a row after it has enqueued its task, which may have run by then.
    await database.untilEmpty();

    await database.pool.query(`insert into outbox (id, name, payload) values ($1, 'task', '1')`, [id]);
    await database.untilEmpty();
    await database.promise([{ payload: 2 }]);

    await until('the next task', () => runs.includes(2));
    expect(runs).toEqual([1, 2]);
  });

  test('sets refused tasks aside, says why, and goes on with the others', async () => {
    const errors: string[] = [];
    const small = new Queue(redis, 'tasks', { prefix, maxPayloadBytes: 100 });
    const group = { group: 'g' };
    const ids = await database.promise([
      { payload: 1, options: group },
      { payload: 'x'.repeat(101), options: group },
      { payload: 3, options: { ...group, priority: 'urgent' } },
      { payload: 4, options: { ...group, attempts: 0 } },
      { payload: 5, name: '', options: group },
      { payload: JSON.parse('['.repeat(500) + ']'.repeat(500)), options: group },
      { payload: 'of another task', options: group },
      { payload: 8, options: group },
    ]);
    await queue.enqueue('task', 'something else', { id: ids[6]! });

    database.relay(small, { onError: (error) => errors.push((error as Error).message) });
    await database.untilEmpty();

    const { rows } = await database.pool.query<{ id: string; refused: string }>(
      'select id, refused from outbox order by seq',
    );
    expect(rows.map(({ id }) => id)).toEqual(ids.slice(1, 7));
    expect(rows.map(({ refused }) => refused)).toEqual([
      expect.stringContaining('103 bytes, the limit is 100'),
      expect.stringContaining('urgent'),
      expect.stringContaining('attempts'),
      expect.stringContaining('name'),
      expect.stringContaining('payload'),
      expect.stringContaining('another name or payload'),
    ]);
    expect(errors).toEqual(rows.map(({ id, refused }) => `outbox: task ${id} was refused: ${refused}`));

    // Corrected, it is a row like any other.
    await database.pool.query(`update outbox set refused = null, payload = '2' where id = $1`, [ids[1]]);
    await until('the corrected task', async () => (await queue.get(ids[1]!)) !== null);
    expect((await run(4)).filter((payload) => payload !== 'something else')).toEqual([1, 8, 2]);
  });

  test('stops when it has nothing to do, when it has not started, and twice', async () => {
    const relay = database.relay(queue, { recheckMs: 3_600_000 });
    await database.untilIdle();

    await relay.stop();
    await relay.stop();

    await database.promise([{ payload: 1 }]);
    expect(await database.waiting()).toHaveLength(1);
  });
});

test('the example prints its documented output', async () => {
  const empty = await OutboxDatabase.createEmpty(server());
  process.env['DATABASE_URL'] = empty.url;

  const printed = await runExample(join(OUTBOX, 'order.ts'));

  const [, output = ''] = readFileSync(join(OUTBOX, 'order.ts'), 'utf8').split('// Output:\n');
  await empty.untilAlone();
  expect(printed.map((line) => `// ${line}`)).toEqual(output.trimEnd().split('\n'));
});

const quick = { recheckMs: 100, onError: () => undefined };

/** The relay as Node runs it; inside this package, so that it finds its imports. */
let build: string;
beforeAll(() => {
  const parent = join(import.meta.dirname, '../../.jest');
  mkdirSync(parent, { recursive: true });
  build = mkdtempSync(join(parent, 'outbox-'));
  const tsc = join(import.meta.dirname, '../../node_modules/typescript/bin/tsc');
  const options = '--ignoreConfig --noCheck --module nodenext --target es2023';
  const places = ['--rootDir', OUTBOX, '--outDir', build];
  execFileSync(process.execPath, [tsc, join(OUTBOX, 'outbox-relay.ts'), ...options.split(' '), ...places]);
});
afterAll(() => rmSync(build, { recursive: true }));

/** Resolves when the process has been stopped by a signal. */
async function isFrozen({ pid }: ChildProcess): Promise<void> {
  await until('a frozen process', () => / T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')));
}

/** Starts outbox-process.mjs. */
function relayProcess(
  at: number,
  signal: 'SIGKILL' | 'SIGSTOP',
  options: OutboxRelayOptions = {},
): { child: ChildProcess; idle: Promise<number> } {
  const file = join(import.meta.dirname, 'outbox-process.mjs');
  const relay = join(build, 'outbox-relay.js');
  const task = { relay, database: database.url, redis: REDIS, queue: 'tasks', prefix, options, at, signal };
  const child = fork(file, task);
  const idle = new Promise<number>((resolve) => {
    child.on('message', (message: { type: string; moments: number }) => {
      if (message.type === 'idle') resolve(message.moments);
    });
  });
  return { child, idle };
}

function promisedOf(groups: readonly (string | undefined)[], first = 0): Promised[] {
  return groups.map((group, index) => ({
    payload: { group, n: first + index },
    options: group === undefined ? {} : { group },
  }));
}

const SOME = promisedOf(['a', 'b', undefined, 'a', 'b']);
const TWO_OF_A_GROUP = promisedOf(['a', 'a']);
/** The moment of a process in which it has read the rows of its first lane: after listen, begin, and the look for a lane. */
const HAS_READ = 8;

/** Runs all that is in the queue, and expects each payload once, those of a group in their order. */
async function expectOnce(promised: readonly Promised[]): Promise<void> {
  type Payload = { group?: string; n: number };
  const ran: Payload[] = [];
  await launch(
    redis,
    'tasks',
    { task: async (payload: Payload) => void ran.push(payload) },
    { prefix, concurrency: 1 },
  );
  await until('all tasks to have run', async () => {
    const { ready, active, succeeded } = await queue.counts();
    return ready + active === 0 && succeeded >= promised.length;
  });
  const wanted = promised.map(({ payload }) => payload as Payload);
  expect(ran.map(({ n }) => n).toSorted((left, right) => left - right)).toEqual(wanted.map(({ n }) => n));
  for (const group of ['a', 'b']) {
    const inOrder = (payloads: readonly Payload[]): number[] =>
      payloads.filter((payload) => payload.group === group).map(({ n }) => n);
    expect(inOrder(ran)).toEqual(inOrder(wanted));
  }
}

describe('a relay process', () => {
  test('may be killed at any moment: no task is lost, none is stored twice, groups keep their order', async () => {
    const promised: Promised[] = [];
    const ids: string[] = [];
    let at = 0;
    let moments: number | undefined;
    while (moments === undefined) {
      // After each call, which is as before the next one.
      at += 2;
      const more = promisedOf(['a', 'a'], promised.length);
      promised.push(...more);
      ids.push(...(await database.promise(more)));
      const { child, idle } = relayProcess(at, 'SIGKILL');
      const exit = once(child, 'exit').then(([, signal]) => expect(signal).toBe('SIGKILL'));
      moments = await Promise.race([idle, exit.then(() => undefined)]);

      const waiting = new Set(await database.waiting());
      const stored = await Promise.all(ids.map((id) => queue.get(id)));
      expect(ids.filter((id, index) => !waiting.has(id) && stored[index] === null)).toEqual([]);
    }

    // Two moments of each call: listen; begin, lane, read, enqueue, delete, commit; begin, no lane, commit. The next one survives.
    expect(at).toBe(2 + 12 + 6 + 2);
    expect(await database.waiting()).toEqual([]);
    await expectOnce(promised);
  });

  test('a frozen relay loses its lane to another one, and does no harm when it goes on', async () => {
    await database.promise(TWO_OF_A_GROUP);
    const { child } = relayProcess(HAS_READ, 'SIGSTOP', { silenceMs: 1_000, recheckMs: 100 });
    await isFrozen(child);
    expect(await database.waiting()).toHaveLength(2);

    database.relay(queue, quick);
    await database.untilEmpty();
    const idle = once(child, 'message', { signal: AbortSignal.timeout(40_000) });
    child.kill('SIGCONT');
    const [message] = (await idle) as [{ type: string }];

    expect(message.type).toBe('error');
    await expectOnce(TWO_OF_A_GROUP);
  });
});

describe('a relay beside one that fails', () => {
  test('takes over the tasks of a killed one within recheckMs', async () => {
    await database.promise(TWO_OF_A_GROUP);
    const { child } = relayProcess(HAS_READ, 'SIGSTOP');
    await isFrozen(child);
    await until('the first relay to hold a lane', async () => {
      const { rows: held } = await database.pool.query(
        `select from pg_locks where relation = 'outbox_lanes'::regclass`,
      );
      return held.length > 0;
    });
    database.relay(queue, quick);
    await database.untilIdle();
    expect(await database.waiting()).toHaveLength(2);

    await kill(child);

    await database.untilEmpty();
    await expectOnce(TWO_OF_A_GROUP);
  });

  test('goes on when PostgreSQL has crashed and is back', async () => {
    const own = server();
    database.relay(queue, quick);
    await database.promise(SOME.slice(0, 3));
    await database.untilEmpty();

    await own.kill();
    await own.restart();
    await database.promise(SOME.slice(3));

    expect(await database.untilEmpty()).toBe(true);
    await expectOnce(SOME);
  });

  test('enqueues again when the reply of Redis is lost', async () => {
    const proxy = await startProxy({ port: Number(new URL(REDIS).port) });
    const far = connect(proxy.url);
    try {
      database.relay(new Queue(far, 'tasks', { prefix }), { ...quick, silenceMs: 500 });
      await database.promise(SOME.slice(0, 2));
      await database.untilEmpty();

      proxy.dropReplies();
      const ids = await database.promise(SOME.slice(2));
      await until('a task in Redis', async () => {
        return (await Promise.all(ids.map((id) => queue.get(id)))).some((task) => task !== null);
      });
      expect(await database.waiting()).toEqual(ids);

      await proxy.restore();

      await database.untilEmpty();
      await expectOnce(SOME);
    } finally {
      await database.close();
      disconnect(far);
      await proxy.stop();
    }
  });

  test('keeps the tasks while Redis refuses them for want of memory', async () => {
    const full = await startSingle({ maxMemoryBytes: 1024, args: ['--maxmemory-policy', 'noeviction'] });
    const client = connect(full.url);
    try {
      const errors: string[] = [];
      const [id] = await database.promise([{ payload: 1 }]);
      const there = new Queue(client, 'tasks', { prefix });
      database.relay(there, { recheckMs: 100, onError: (error) => errors.push(String(error)) });
      await until('two failures', () => errors.length >= 2);
      expect(await database.waiting()).toEqual([id]);

      await full.command('CONFIG', 'SET', 'maxmemory', '0');

      await database.untilEmpty();
      expect(await there.get(id!)).toMatchObject({ payload: 1 });
    } finally {
      await database.close();
      disconnect(client);
      await full.stop();
    }
  });
});
