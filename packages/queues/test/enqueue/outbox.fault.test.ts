import { execFileSync, fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { startProxy, startSingle } from '@mortise/redis-server';
import { connect, disconnect, freshPrefix, until } from '@mortise/test-kit';
import type { OutboxRelayOptions } from '../../examples/outbox/outbox-relay.js';
import { launch } from '../fixture/launch.js';
import { OUTBOX, OutboxDatabase, postgres } from './outbox-database.js';
import type { Promised } from './outbox-database.js';

const REDIS = process.env['MORTISE_TEST_REDIS']!;
const server = postgres();
const redis = connect();
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

let database: OutboxDatabase;
let prefix: string;
let queue: Queue;
beforeEach(async () => {
  database = await OutboxDatabase.create(server());
  prefix = freshPrefix();
  queue = new Queue(redis, 'tasks', { prefix });
});

const children = new Set<ChildProcess>();
afterEach(async () => {
  await Promise.all([...children].map(kill));
  children.clear();
});

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

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
  const child = fork(file, [JSON.stringify(task)], { execArgv: [] });
  children.add(child);
  const idle = new Promise<number>((resolve) => {
    child.on('message', (message: { type: string; moments: number }) => {
      if (message.type === 'idle') resolve(message.moments);
    });
  });
  return { child, idle };
}

function rows(groups: readonly (string | undefined)[], first = 0): Promised[] {
  return groups.map((group, index) => ({
    payload: { group, n: first + index },
    options: group === undefined ? {} : { group },
  }));
}

const SOME = rows(['a', 'b', undefined, 'a', 'b']);
const TWO_OF_A_GROUP = rows(['a', 'a']);
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
      const more = rows(['a', 'a'], promised.length);
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
  }, 60_000);

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

describe('a relay', () => {
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
