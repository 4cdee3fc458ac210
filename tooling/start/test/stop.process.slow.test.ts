/** However `npm start` is ended, nothing that it started is left. It runs for real: npm, its shell, Redis, the API, the worker. */
import type { ChildProcess } from 'node:child_process';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, test } from '@jest/globals';
import { until } from '@mortise/test-kit';

const RUN = new URL('../run.mjs', import.meta.url).href;
const INVOKER = new URL('../invoker.mjs', import.meta.url).href;
/** The steps of `start.mjs` once everything is built. */
const PROGRAM = `
  import { onInvokerGone } from '${INVOKER}';
  import { run, stop } from '${RUN}';
  onInvokerGone(() => void stop(0));
  await run(process.env.MORTISE_DATA, () => {});`;
/** As the repository has it, so that the shell of npm does with a signal what it does there. */
const SCRIPT = (
  JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
    readonly scripts: { readonly start: string };
  }
).scripts.start.replace('tooling/start/start.mjs', 'program.mjs');
/** A bound for what hangs, not for what is slow: six services start beside the tests of other packages. */
const BOOT_MS = 240_000;
/** Redis, the API, the worker and what kills them when all else fails, under the program under npm. */
const LEAST_PROCESSES = 6;

const FIRST_PORT = 3900;
/** Each looks for a free port from its own on. */
const PORTS_APART = 10;

interface Started {
  readonly npm: ChildProcess;
  /** Of npm and all that descend from it, by command line. */
  readonly commands: ReadonlyMap<number, string>;
  readonly output: () => string;
  /** Resolves when the process has ended and its output was read to the end. */
  readonly closed: Promise<unknown>;
}

interface Listed {
  readonly id: number;
  readonly parent: number;
  readonly args: string;
}

/** Each process of the machine that has not ended. */
function processes(): Listed[] {
  const lines = execFileSync('ps', ['-A', '-ww', '-o', 'pid=,ppid=,stat=,args='], { encoding: 'utf8' });
  return Array.from(lines.matchAll(/^ *(\d+) +(\d+) +([^Z\s]\S*) +(.*)$/gm), ([, id, parent, , args]) => ({
    id: Number(id),
    parent: Number(parent),
    args: args!,
  }));
}

/** The command line of each process that descends from `pid`, and of itself. */
function descendants(pid: number): Map<number, string> {
  const all = processes();
  const found = new Map(all.filter(({ id }) => id === pid).map(({ id, args }) => [id, args]));
  for (let size = 0; size !== found.size;) {
    size = found.size;
    for (const { id, parent, args } of all) if (found.has(parent)) found.set(id, args);
  }
  return found;
}

async function start(directory: string, port: number): Promise<Started> {
  writeFileSync(join(directory, 'program.mjs'), PROGRAM);
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ scripts: { start: SCRIPT } }));
  const { REDIS_URL: _, MORTISE_TEST_REDIS: __, NODE_OPTIONS: ___, ...env } = process.env;
  const npm = spawn('npm', ['start'], {
    cwd: directory,
    env: { ...env, MORTISE_DATA: join(directory, 'data'), MORTISE_GUILD_SIZE: '0', PORT: String(port) },
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
  try {
    await until('npm start to be up', () => output.includes('Mortise is running.'), BOOT_MS);
  } catch (error) {
    killAll(descendants(npm.pid!));
    throw new Error(`npm start printed:\n${output}`, { cause: error });
  }
  return { npm, commands: descendants(npm.pid!), output: () => output, closed };
}

/** Resolves when the worker has refused to deliver a webhook to this machine: it serves the queue. */
async function delivers(url: string, key: string): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ url: 'https://localhost/', type: 'sale', data: {} });
  const posted = await fetch(`${url}/v1/webhooks`, { method: 'POST', headers, body });
  const { taskId } = (await posted.json()) as { taskId: string };
  await until('the webhook to be dead', async () => {
    const task = await fetch(`${url}/v1/queues/webhook/tasks/${taskId}`, { headers });
    return ((await task.json()) as { state: string }).state === 'dead';
  });
}

/** The processes that still run. */
function left(commands: ReadonlyMap<number, string>): Listed[] {
  return processes().filter(({ id, args }) => commands.get(id) === args);
}

function killAll(commands: ReadonlyMap<number, string>): void {
  for (const { id } of left(commands)) process.kill(id, 'SIGKILL');
}

/** Each end, and whether everything is stopped in order: Redis last, after what uses it. */
const ENDS: Record<string, [isOrderly: boolean, end: (started: Started) => void]> = {
  'npm gets SIGINT': [true, ({ npm }) => npm.kill('SIGINT')],
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
  test.concurrent.each(Object.keys(ENDS))(
    '%s',
    async (name) => {
      const [isOrderly, end] = ENDS[name]!;
      const directory = mkdtempSync(join(tmpdir(), 'mortise-start-'));
      const port = FIRST_PORT + PORTS_APART * Object.keys(ENDS).indexOf(name);
      try {
        const running = await start(directory, port);
        try {
          expect(running.commands.size).toBeGreaterThanOrEqual(LEAST_PROCESSES);
          end(running);
          await until('all processes to end', () => left(running.commands).length === 0, BOOT_MS);
          await running.closed;
          expect(running.output().includes('Stopped.')).toBe(isOrderly);
        } finally {
          killAll(running.commands);
        }
      } finally {
        rmSync(directory, { recursive: true, force: true });
      }
    },
    2 * BOOT_MS,
  );
});

test(
  'webhooks are delivered; an app that dies is started again, and says so',
  async () => {
    const directory = mkdtempSync(join(tmpdir(), 'mortise-start-'));
    const port = FIRST_PORT + PORTS_APART * Object.keys(ENDS).length;
    const running = await start(directory, port);
    const now = (): ReadonlyMap<number, string> => descendants(running.npm.pid!);
    const pidOf = (name: string): number | undefined =>
      [...now()].find(([, args]) => args.includes(`apps/${name}/dist/main.js`))?.[0];
    try {
      const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(running.output())!;
      await delivers(url, /mk_local_\S+/.exec(running.output())![0]);
      expect(statSync(join(directory, 'data/webhook-secret')).mode & 0o777).toBe(0o600);
      for (const name of ['worker', 'api']) {
        const before = pidOf(name)!;
        process.kill(before, 'SIGKILL');
        await until(`another ${name}`, () => ![before, undefined].includes(pidOf(name)), BOOT_MS);
        expect(running.output()).toContain(`✗ the ${name} ended with code SIGKILL`);
      }
      const isReady = () =>
        fetch(`${url}/health/ready`).then(
          ({ ok }) => ok,
          () => false,
        );
      await until('the API to be ready again', isReady, BOOT_MS);
      const all = now();
      running.npm.kill('SIGTERM');
      await until('all processes to end', () => left(all).length === 0, BOOT_MS);
      await running.closed;
      expect(running.output()).toContain('Stopped.');
    } finally {
      killAll(now());
      killAll(running.commands);
      rmSync(directory, { recursive: true, force: true });
    }
  },
  3 * BOOT_MS,
);
