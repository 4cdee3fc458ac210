/** A private Redis server for a test run: what the engine in memory doesn't emulate can be tested with it. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CodedError } from '../coded-error.js';

/**
 * No `redis-server` or `valkey-server` could be started: none is on the PATH, or the program ended at once.
 *
 * @remedy Install Redis 7.0 or Valkey, or pass `binary`.
 */
export class TestServerError extends CodedError {
  static override readonly className: string = 'TestServerError';
  readonly code = 'ERR_TEST_SERVER';

  constructor(problem: string, options?: ErrorOptions) {
    super(`no Redis server for the tests: ${problem}`, options, 'ERR_TEST_SERVER');
  }
}

export interface TestRedisOptions {
  /** The server program. Default: `redis-server`, else `valkey-server`, of the PATH. */
  readonly binary?: string | undefined;
  /** Further arguments of the program, such as `['--appendonly', 'yes']`. */
  readonly args?: readonly string[] | undefined;
}

/** A server that `createTestRedis` started. */
export interface TestRedis {
  /** The URL of the server, such as `redis://127.0.0.1:51234`. */
  readonly url: string;
  readonly port: number;
  /** Ends the server and removes its directory. Idempotent. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const READY_MS = 10_000;
const READY = /Ready to accept connections/;
/** Real time, also while a test clock is installed. */
const { setTimeout: later, clearTimeout: cancel } = globalThis;

/**
 * Starts a Redis server on a free port of the loopback interface, without persistence. Resolves when the server accepts
 * connections, after about 50 ms. The server ends with `stop`, and with this process. Rejects with ERR_TEST_SERVER.
 */
export async function createTestRedis({ binary, args = [] }: TestRedisOptions = {}): Promise<TestRedis> {
  const directory = await mkdtemp(join(tmpdir(), 'mortise-test-redis-'));
  const binaries = binary === undefined ? ['redis-server', 'valkey-server'] : [binary];
  let problem: unknown;
  for (const program of binaries) {
    try {
      const port = await freePort();
      const own = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, '--save', ''];
      return running(await started(program, [...own, ...args]), port, directory);
    } catch (error) {
      problem ??= error;
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') break;
    }
  }
  rmSync(directory, { recursive: true, force: true });
  if ((problem as NodeJS.ErrnoException).code !== 'ENOENT') throw problem;
  throw new TestServerError(`${binaries.join(' and ')} can't be found`, { cause: problem });
}

function started(program: string, args: readonly string[]): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let log = '';
    const fail = (problem: string): void => {
      cancel(limit);
      child.kill('SIGKILL');
      reject(
        new TestServerError(`${problem}. Its last lines: ${log.trim().split('\n').slice(-3).join(' | ')}`),
      );
    };
    const limit = later(() => fail(`${program} wasn't ready within ${READY_MS} ms`), READY_MS);
    child.on('error', (error) => {
      cancel(limit);
      reject(error);
    });
    // After its last line; Redis writes about wrong arguments to stderr.
    child.on('close', (code) => fail(`${program} ended with ${code}`));
    const outputs = [child.stdout, child.stderr];
    const read = (data: Buffer): void => {
      log += String(data);
      if (!READY.test(log)) return;
      cancel(limit);
      child.removeAllListeners('close');
      for (const output of outputs) output.removeAllListeners('data').resume();
      resolve(child);
    };
    for (const output of outputs) output.on('data', read);
  });
}

function running(child: ChildProcess, port: number, directory: string): TestRedis {
  const kill = (): void => {
    child.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  };
  process.on('exit', kill);
  // The tests may end without `stop`.
  child.unref();
  for (const output of [child.stdout, child.stderr]) (output as { unref?: () => void } | null)?.unref?.();
  const ended = new Promise<void>((resolve) => {
    child.on('exit', () => resolve());
  });
  const stop = async (): Promise<void> => {
    process.off('exit', kill);
    child.ref();
    kill();
    await ended;
  };
  return { url: `redis://127.0.0.1:${port}`, port, stop, [Symbol.asyncDispose]: stop };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.on('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => {
    server.close(resolve);
  });
  return port;
}
