import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { freshPrefix } from '@mortise/test-kit';
import { run } from '../../src/cli/run.js';
import { USAGES } from '../../src/cli/usage.js';
import { Bench, HOSTILE_IDS } from '../fixture/bench.js';
import { redis } from '../fixture/new-queue.js';
import { until } from '../fixture/until.js';

const url = process.env['MORTISE_TEST_REDIS']!;

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function cli(...args: readonly string[]): Promise<Ended> {
  const ended = { code: -1, out: '', err: '' };
  ended.code = await run(args, {
    env: { REDIS_URL: url },
    out: (text) => void (ended.out += text),
    err: (text) => void (ended.err += text),
  });
  return ended;
}

/** As a program of its own: the built one. */
function program(args: readonly string[], env: NodeJS.ProcessEnv = { REDIS_URL: url }): Promise<Ended> {
  const file = join(import.meta.dirname, '../../dist/cli/main.js');
  return new Promise((resolve) => {
    execFile(process.execPath, [file, ...args], { env }, (error, out, err) => {
      resolve({ code: Number(error?.code ?? 0), out, err });
    });
  });
}

/** Runs a command against the queue of a bench; what it prints as JSON, and the exit code. */
async function json(bench: Bench, command: string, ...args: readonly string[]): Promise<[number, unknown]> {
  const { code, out, err } = await cli(command, '--prefix', bench.prefix, '--json', ...args);
  expect(err).toBe('');
  return [code, JSON.parse(out)];
}

describe('ls and show', () => {
  test('queues with their counts', async () => {
    const bench = new Bench();
    await bench.task('ready');
    await bench.task('scheduled');
    await bench.queue.pause();
    const other = new Queue(redis, 'other\u001b[2J', { prefix: bench.prefix });
    await other.enqueue('t', 1);
    const { code, out } = await cli('ls', '--prefix', bench.prefix);
    expect(code).toBe(0);
    expect(out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['queue', 'scheduled', 'ready', 'active', 'retrying', 'succeeded', 'dead', 'cancelled', 'waiting'],
      ['other\\u001b[2J', '0', '1', '0', '0', '0', '0', '0', '0'],
      ['q', '1', '1', '0', '0', '0', '0', '0', '0', 'paused'],
      [''],
    ]);
    expect(await json(bench, 'ls')).toMatchObject([
      0,
      [
        { name: 'other\u001b[2J', isPaused: false, counts: { ready: 1 } },
        { name: 'q', isPaused: true, counts: { ready: 1, scheduled: 1 } },
      ],
    ]);
    expect(await cli('ls', '--prefix', freshPrefix())).toEqual({ code: 0, out: '', err: '' });
  });

  test('the settings of a queue', async () => {
    const bench = new Bench({ priorities: ['a', 'b'], shards: 2 });
    await bench.task('ready');
    await bench.queue.configure({ concurrency: 7 });
    await bench.queue.pause();
    await bench.work();
    await until(async () => (await bench.queue.names()).length > 0);
    expect(await json(bench, 'show', 'q')).toMatchObject([
      0,
      {
        name: 'q',
        settings: { priorities: ['a', 'b'], shards: 2, concurrency: 7 },
        counts: { ready: 1 },
        handled: expect.arrayContaining(['ok']),
      },
    ]);
    const { out } = await cli('show', 'q', '--prefix', bench.prefix);
    expect(out).toMatch(/^name +q$/m);
    expect(out).toMatch(/^concurrency +7$/m);
    expect(out).toMatch(/^ready +1$/m);
  });
});

describe('reshard', () => {
  test('changes the number of shards of a queue, or says that it has that number', async () => {
    const bench = new Bench({ shards: 2 });
    const id = await bench.task('ready');
    expect(await json(bench, 'reshard', 'q', '5')).toEqual([0, { name: 'q', shards: 5, isChanged: true }]);
    expect(await cli('reshard', 'q', '5', '--prefix', bench.prefix)).toEqual({
      code: 0,
      out: 'q already has 5 shards\n',
      err: '',
    });
    expect(await bench.queue.settings()).toMatchObject({ shards: 5, earlierShards: [2] });
    expect(await bench.queue.get(id)).toMatchObject({ state: 'ready' });
  });

  test('is refused for a number that no queue has, and for an unknown queue', async () => {
    const { prefix } = new Bench();
    expect(await cli('reshard', 'q', '--prefix', prefix)).toMatchObject({ code: 2 });
    expect(await cli('reshard', 'q', 'x', '--prefix', prefix)).toMatchObject({ code: 2 });
    const err = 'mortise-queues: no queue "q"\n';
    expect(await cli('reshard', 'q', '5', '--prefix', prefix)).toMatchObject({ code: 1, err });
  });
});

describe('tasks and task', () => {
  test('pages, by name', async () => {
    const bench = new Bench();
    for (let n = 0; n < 5; n += 1) await bench.task('ready', `n${n}`);
    await bench.queue.enqueue('other', 1, { id: 'x' });
    const [, first] = (await json(bench, 'tasks', 'q', '--state', 'ready', '--limit', '4')) as [
      number,
      { tasks: { id: string }[]; cursor: string },
    ];
    expect(first.tasks.map(({ id }) => id)).toEqual(['n0', 'n1', 'n2', 'n3']);
    expect(await json(bench, 'tasks', 'q', '--state', 'ready', '--cursor', first.cursor)).toMatchObject([
      0,
      { tasks: [{ id: 'n4' }, { id: 'x' }], cursor: null },
    ]);
    expect(await json(bench, 'tasks', 'q', '--state', 'ready', '--name', 'other')).toMatchObject([
      0,
      { tasks: [{ id: 'x', name: 'other' }] },
    ]);
    const { out } = await cli('tasks', 'q', '--state', 'ready', '--limit', '1', '--prefix', bench.prefix);
    expect(out).toMatch(
      /^id +name +priority +attempt +at +error\nn0 +ok +medium +0\/5 +\d{4}-.*Z\nmore: --cursor \S+\n$/,
    );
  });

  test('all that is known of a task', async () => {
    const bench = new Bench();
    await bench.work();
    await bench.task('active', 'a');
    await until(() => bench.hanging.has('a'));
    await bench.hanging.get('a')!.progress(0.5);
    await bench.hanging.get('a')!.log('half\u001b[1m done');
    const { code, out } = await cli('task', 'q', 'a', '--prefix', bench.prefix);
    expect(code).toBe(0);
    for (const line of [
      /^id +a$/m,
      /^state +active$/m,
      /^progress +0\.5$/m,
      /^log 1 +\S+Z half\\u001b\[1m done$/m,
    ]) {
      expect(out).toMatch(line);
    }
    const ended = await cli('task', 'q', 'a', 'nobody', '--json', '--prefix', bench.prefix);
    expect(ended).toMatchObject({ code: 1, err: 'mortise-queues: no task "nobody" in queue "q"\n' });
    expect(JSON.parse(ended.out)).toMatchObject([{ id: 'a', state: 'active' }, null]);
  });
});

describe('commands that change tasks', () => {
  test('cancel, retry, promote, remove by ids of any form', async () => {
    const bench = new Bench();
    // No argument of a program can hold NUL.
    const ids = HOSTILE_IDS.filter((id) => !id.includes('\0'));
    for (const id of ids) await bench.task('scheduled', id);
    expect(await json(bench, 'promote', 'q', ...ids)).toEqual([0, ids.map((id) => ({ id, promoted: true }))]);
    expect(await json(bench, 'cancel', 'q', ...ids, '--reason', 'no more')).toEqual([
      0,
      ids.map((id) => ({ id, cancelled: true })),
    ]);
    expect(await bench.queue.get('}x')).toMatchObject({ state: 'cancelled', error: { message: 'no more' } });
    expect(await json(bench, 'retry', 'q', ...ids)).toEqual([0, ids.map((id) => ({ id, retried: true }))]);
    expect(await json(bench, 'remove', 'q', ...ids)).toEqual([0, ids.map((id) => ({ id, removed: true }))]);
    expect(await json(bench, 'remove', 'q', '--', '-x')).toEqual([1, [{ id: '-x', removed: false }]]);
  });

  test('ends with 1 when something is refused, and does the rest', async () => {
    const bench = new Bench();
    await bench.work();
    await bench.task('active', 'a');
    await bench.task('dead', 'b');
    const { code, out, err } = await cli('remove', 'q', 'a', 'b', 'c', '--prefix', bench.prefix);
    expect({ code, err }).toEqual({ code: 1, err: '' });
    expect(out).toBe(
      'not removed a: task "a" of queue "q" is active: cancel it first\nremoved b\nnot removed c\n',
    );
    expect(await bench.queue.get('b')).toBeNull();
    expect(await json(bench, 'remove', 'q', 'a')).toMatchObject([
      1,
      [{ removed: false, code: 'ERR_TASK_ACTIVE' }],
    ]);
  });

  test('retry --all, drain, clean', async () => {
    const bench = new Bench();
    for (let n = 0; n < 4; n += 1) await bench.task('cancelled', `n${n}`);
    expect(await json(bench, 'retry', 'q', '--all')).toEqual([0, { retried: 0 }]);
    expect(
      await json(bench, 'retry', 'q', '--all', '--state', 'cancelled', '--name', 'ok', '--limit', '3'),
    ).toEqual([0, { retried: 3 }]);
    await bench.task('scheduled');
    expect(await json(bench, 'drain', 'q')).toEqual([0, { removed: 3 }]);
    expect(await json(bench, 'drain', 'q', '--scheduled')).toEqual([0, { removed: 1 }]);
    expect(await json(bench, 'clean', 'q', '--state', 'cancelled', '--older-than', '1h')).toEqual([
      0,
      { removed: 0 },
    ]);
    const { out } = await cli('clean', 'q', '--state', 'cancelled', '--limit', '5', '--prefix', bench.prefix);
    expect(out).toBe('removed 1\n');
  });

  test('obliterate, and --force for a queue in use', async () => {
    const bench = new Bench();
    await bench.work();
    await bench.task('active');
    const refused = await cli('obliterate', 'q', '--prefix', bench.prefix);
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toMatch(
      /^mortise-queues: queue "q" is in use: 1 active tasks.*\(ERR_QUEUE_IN_USE\)\n$/,
    );
    expect(await json(bench, 'obliterate', 'q', '--force')).toEqual([0, { obliterated: 'q' }]);
    expect(await Queue.names(redis, { prefix: bench.prefix })).toEqual([]);
  });

  test('pause and resume, one queue or all', async () => {
    const bench = new Bench();
    const other = new Queue(redis, 'other', { prefix: bench.prefix });
    await Promise.all([bench.queue.enqueue('t', 1), other.enqueue('t', 1)]);
    const paused = async (): Promise<boolean[]> =>
      (await Promise.all([other.settings(), bench.queue.settings()])).map(({ isPaused }) => isPaused);
    expect(await json(bench, 'pause', 'q')).toEqual([0, { paused: ['q'] }]);
    expect(await paused()).toEqual([false, true]);
    expect(await json(bench, 'pause', '--all')).toEqual([0, { paused: ['other', 'q'] }]);
    expect(await paused()).toEqual([true, true]);
    expect(await json(bench, 'resume', '--all')).toEqual([0, { resumed: ['other', 'q'] }]);
    expect(await paused()).toEqual([false, false]);
  });

  test('an unknown queue is not created', async () => {
    const prefix = freshPrefix();
    const lines = [
      'show q',
      'tasks q --state dead',
      'task q x',
      'retry q x',
      'retry q --all',
      'cancel q x',
      'remove q x',
    ];
    lines.push('promote q x', 'pause q', 'resume q', 'drain q', 'clean q --state dead', 'obliterate q');
    for (const line of lines) {
      const ended = await cli(...line.split(' '), '--prefix', prefix);
      expect(ended).toEqual({ code: 1, out: '', err: 'mortise-queues: no queue "q"\n' });
    }
    expect(await redis.keys(`${prefix}*`)).toEqual([]);
  });
});

describe('arguments', () => {
  test.each([
    [''],
    ['nonsense'],
    ['toString'],
    ['ls q'],
    ['ls --state dead'],
    ['ls --what'],
    ['show'],
    ['show a b'],
    ['tasks q'],
    ['tasks q --state done'],
    ['tasks q --state dead --limit 0'],
    ['tasks q --state dead --limit 1e3'],
    ['retry q'],
    ['retry q x --state dead'],
    ['retry q --all --state succeeded'],
    ['pause'],
    ['pause q --all'],
    ['clean q'],
    ['obliterate'],
    ['drain q --force'],
    ['clean q --state dead --older-than soon'],
    ['ls --redis http://127.0.0.1'],
    ['ls --redis nonsense'],
    ['ls --redis redis://%ZZ@127.0.0.1'],
  ])('"%s" is refused', async (line) => {
    const { code, out, err } = await cli(...line.split(' ').filter(Boolean));
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(/^mortise-queues: .+\n$/);
  });

  test('a refusal of the library is a wrong argument, too', async () => {
    const bench = new Bench();
    await bench.task('ready');
    const prefix = ['--prefix', bench.prefix];
    expect(await cli('tasks', 'q', '--state', 'dead', '--cursor', 'x', ...prefix)).toMatchObject({ code: 2 });
    expect(await cli('tasks', 'q', '--state', 'dead', '--limit', '5000', ...prefix)).toMatchObject({
      code: 2,
    });
    expect(await cli('cancel', 'q', 'x', '--reason', 'x'.repeat(2_000), ...prefix)).toMatchObject({
      code: 2,
    });
    expect(await cli('ls', '--prefix', '')).toMatchObject({ code: 2 });
  });

  test('help tells of every command', async () => {
    const { code, out } = await cli('--help');
    expect(code).toBe(0);
    for (const command of Object.keys(USAGES)) expect(out).toContain(`\n  ${command}`);
    expect((await cli('clean', '--help')).out).toContain('--older-than');
    expect((await cli('drain', '--help')).out).toContain('--scheduled: also scheduled and retrying');
  });
});

describe('the program', () => {
  test('prints, and ends with the code', async () => {
    const bench = new Bench();
    await bench.task('ready', 'a');
    const prefix = ['--prefix', bench.prefix];
    expect(await program(['cancel', 'q', 'a', ...prefix])).toEqual({
      code: 0,
      out: 'cancelled a\n',
      err: '',
    });
    expect(await program(['cancel', 'q', 'a', ...prefix])).toEqual({
      code: 1,
      out: 'not cancelled a\n',
      err: '',
    });
    expect(await program(['cancel', 'q', ...prefix])).toMatchObject({ code: 2, out: '' });
    const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
      version: string;
    };
    expect(await program(['--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' });
  });

  test('gives up soon where there is no Redis', async () => {
    const { code, out, err } = await program(['ls', '--redis', 'redis://127.0.0.1:1']);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^mortise-queues: no connection to 127\.0\.0\.1:1: .*ECONNREFUSED/);
    expect(await program(['ls', '--cluster'], { REDIS_URL: 'redis://127.0.0.1:1' })).toMatchObject({
      code: 1,
      out: '',
    });
  });
});
