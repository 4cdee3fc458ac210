/** However `npm start` is ended, nothing that it started is left. It runs for real: npm, its shell, Redis, the API, the worker. */
import type { ChildProcess } from 'node:child_process';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, describe, expect, test } from '@jest/globals';
import { until } from '@mortise/test-kit';

const RUN = new URL('../run.mjs', import.meta.url).href;
const INVOKER = new URL('../invoker.mjs', import.meta.url).href;
/** The steps of `start.mjs` once everything is built. */
const PROGRAM = `
  import { onInvokerGone } from '${INVOKER}';
  import { run, stop } from '${RUN}';
  onInvokerGone(() => void stop(0));
  await run(process.env.MORTISE_DATA, () => {});`;
const BOOT_MS = 60_000;
/** Redis, the API, the worker and what kills them when all else fails, under the program under npm. */
const LEAST_PROCESSES = 6;

interface Started {
  readonly npm: ChildProcess;
  /** Of npm and all that descend from it, by command line. */
  readonly commands: ReadonlyMap<number, string>;
  readonly output: () => string;
  /** Resolves when the process has ended and its output was read to the end. */
  readonly closed: Promise<unknown>;
}

let directory: string;
let started: Started | undefined;

/** The command line of each process that descends from `pid`, and of itself. */
function descendants(pid: number): Map<number, string> {
  const lines = execFileSync('ps', ['-A', '-ww', '-o', 'pid=,ppid=,stat=,args='], { encoding: 'utf8' });
  const all = Array.from(
    lines.matchAll(/^ *(\d+) +(\d+) +(\S+) +(.*)$/gm),
    ([, id, parent, state, args]) => ({
      id: Number(id),
      parent: Number(parent),
      isZombie: state!.startsWith('Z'),
      args: args!,
    }),
  ).filter(({ isZombie }) => !isZombie);
  const found = new Map(all.filter(({ id }) => id === pid).map(({ id, args }) => [id, args]));
  for (let size = 0; size !== found.size;) {
    size = found.size;
    for (const { id, parent, args } of all) if (found.has(parent)) found.set(id, args);
  }
  return found;
}

async function start(): Promise<Started> {
  directory = mkdtempSync(join(tmpdir(), 'mortise-start-'));
  writeFileSync(join(directory, 'program.mjs'), PROGRAM);
  writeFileSync(join(directory, 'package.json'), '{ "scripts": { "start": "node program.mjs" } }');
  const { REDIS_URL: _, MORTISE_TEST_REDIS: __, NODE_OPTIONS: ___, ...env } = process.env;
  const npm = spawn('npm', ['start'], {
    cwd: directory,
    env: { ...env, MORTISE_DATA: join(directory, 'data'), PORT: '3900' },
    // As in a terminal: npm leads the processes that get its signals.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [npm.stdout, npm.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const closed = once(npm, 'close');
  started = { npm, commands: new Map(), output: () => output, closed };
  await until('npm start to be up', () => output.includes('Mortise is running.'), BOOT_MS);
  started = { npm, commands: descendants(npm.pid!), output: () => output, closed };
  return started;
}

function left({ commands }: Started): string[] {
  return [...commands].flatMap(([pid, args]) => (descendants(pid).get(pid) === args ? [args] : []));
}

afterEach(() => {
  for (const [pid, args] of started?.commands ?? []) {
    if (descendants(pid).get(pid) === args) process.kill(pid, 'SIGKILL');
  }
  started = undefined;
  rmSync(directory, { recursive: true, force: true });
});

/** Each end, and whether everything is stopped in order: Redis last, after what uses it. */
const ENDS: Record<string, [isOrderly: boolean, end: (started: Started) => void]> = {
  'npm gets SIGTERM': [true, ({ npm }) => npm.kill('SIGTERM')],
  'npm gets SIGKILL': [true, ({ npm }) => npm.kill('SIGKILL')],
  'Ctrl-C reaches all of the terminal': [true, ({ npm }) => process.kill(-npm.pid!, 'SIGINT')],
  'the terminal is closed': [
    false, // Nobody reads that it stopped.
    ({ npm }) => {
      npm.stdout!.destroy();
      npm.stderr!.destroy();
      process.kill(-npm.pid!, 'SIGHUP');
    },
  ],
  'the program gets SIGKILL': [
    false,
    ({ commands }) => {
      for (const [pid, args] of commands) if (/^node .*program\.mjs/.test(args)) process.kill(pid, 'SIGKILL');
    },
  ],
};

describe('nothing is left of npm start when', () => {
  test.each(Object.keys(ENDS))(
    '%s',
    async (name) => {
      const [isOrderly, end] = ENDS[name]!;
      const running = await start();
      expect(running.commands.size).toBeGreaterThanOrEqual(LEAST_PROCESSES);
      end(running);
      await until('all processes to end', () => left(running).length === 0, BOOT_MS);
      await running.closed;
      expect(running.output().includes('Stopped.')).toBe(isOrderly);
    },
    2 * BOOT_MS,
  );
});
