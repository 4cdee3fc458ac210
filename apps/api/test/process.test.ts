/** The program as it is run: what it needs to start, and how it ends. It is the build: `npm run build` comes first. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent, get, request } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { freshPrefix } from '@mortise/test-kit';

import { LONG_TIMEOUTS } from './fixture/api.js';
import { REDIS_URL, until } from './fixture/redis.js';

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
/** Many programs at once on a busy machine. */
const BOOT_DEADLINE_MS = 100_000;
/** Less than that for which Fastify, left alone, would keep idle connections. */
const KEEP_ALIVE_MS = 40_000;
const children = new Set<ChildProcess>();

function run(env: Record<string, string>): ChildProcess {
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

interface LogEntry {
  readonly msg: string;
  readonly url?: string;
}

interface Program {
  readonly child: ChildProcess;
  readonly url: string;
  readonly lines: readonly LogEntry[];
}

/** Starts the API, and gives its address as it stands in the log. */
async function boot(env: Record<string, string> = {}): Promise<Program> {
  const child = run({ REDIS_URL, PORT: '0', MORTISE_PREFIX: freshPrefix(), ...env });
  const lines: LogEntry[] = [];
  let rest = '';
  child.stdout!.on('data', (chunk: Buffer) => {
    const parts = (rest + chunk.toString()).split('\n');
    rest = parts.pop()!;
    lines.push(...parts.map((line) => JSON.parse(line) as LogEntry));
  });
  const isUp = async (): Promise<LogEntry | undefined> => lines.find(({ msg }) => msg === 'listening');
  const { url } = await until('the address', isUp, BOOT_DEADLINE_MS);
  return { child, url: url!, lines };
}

async function endOf(
  child: ChildProcess,
  signal: NodeJS.Signals,
): Promise<{ code: number | null; ms: number }> {
  const startedAt = performance.now();
  child.kill(signal);
  const [code] = (await once(child, 'exit')) as [number | null];
  return { code, ms: performance.now() - startedAt };
}

function begin(url: string, agent: Agent, body: string): ClientRequest {
  const outgoing = request(`${url}/v1/market/players/frank`, {
    agent,
    method: 'PUT',
    headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
  });
  outgoing.on('error', () => undefined);
  return outgoing;
}

describe('the program', () => {
  const programs: Program[] = [];

  /** Asks so often that the lines of that don't fit into the pipe, which nobody reads from now on. */
  async function fillLog({ child, url }: Program): Promise<void> {
    child.stdout!.removeAllListeners('data').pause();
    for (let round = 0; round < 30; round += 1) {
      await Promise.all(Array.from({ length: 50 }, async () => (await fetch(`${url}/v1/locks/free`)).text()));
    }
  }

  // They start side by side, because most of a start is waiting for a core to load the modules.
  beforeAll(async () => {
    const envs: Record<string, string>[] = [
      LONG_TIMEOUTS,
      { REQUEST_DEADLINE_MS: '4000' },
      {},
      { REDIS_URL: 'redis://127.0.0.1:1' },
      { ...LONG_TIMEOUTS, SHUTDOWN_DELAY_MS: '3000' },
      LONG_TIMEOUTS,
      LONG_TIMEOUTS,
    ];
    programs.push(...(await Promise.all(envs.map(boot))));
  }, BOOT_DEADLINE_MS);

  test('refuses a wrong environment with all that is wrong, and exit code 1', async () => {
    const child = run({ PORT: 'x', LOG_LEVEL: 'loud', REDIS_URL: 'http://x', REDIS_SENTINEL_NAME: 'main' });
    const [stderr, stdout, [code]] = await Promise.all([
      text(child.stderr!),
      text(child.stdout!),
      once(child, 'exit'),
    ]);
    expect(code).toBe(1);
    expect(stdout).toBe('');
    const [head, ...rest] = stderr.trimEnd().split('\n');
    expect(head).toBe('the environment is not valid:');
    expect(rest.map((line) => line.trim().split(':')[0])).toEqual(['PORT', 'LOG_LEVEL', 'REDIS_URL']);
  });

  test('ends with exit code 1 when its port is taken', async () => {
    const { url } = programs[0]!;
    const child = run({ REDIS_URL, PORT: new URL(url).port });
    const [stderr, [code]] = await Promise.all([text(child.stderr!), once(child, 'exit')]);
    expect(code).toBe(1);
    expect(stderr).toContain('EADDRINUSE');
  });

  test('logs one line of JSON with its address, then one for each request, never a body or an address of a mail', async () => {
    const { url, lines } = programs[0]!;
    expect(lines).toEqual([
      expect.objectContaining({ app: 'api', msg: 'listening', url, openapi: `${url}/openapi.json` }),
    ]);
    const body = JSON.stringify({ name: 'Canary', email: 'canary@example.com' });
    const headers = { 'content-type': 'application/json', authorization: 'canary' };
    await fetch(`${url}/v1/market/players/frank?canary`, { method: 'PUT', headers, body });
    await fetch(`${url}/v1/market/players/frank`, { method: 'PUT', headers, body: body.slice(1) });
    await until('two more lines', async () => lines.length === 3);
    const line = {
      app: 'api',
      msg: 'request',
      method: 'PUT',
      route: '/v1/market/players/:id',
      reqId: expect.any(String),
    };
    expect(lines.slice(1)).toMatchObject([
      { ...line, status: 201 },
      { ...line, status: 400 },
    ]);
    expect(JSON.stringify(lines).toLowerCase()).not.toContain('canary');
  });

  test('on SIGTERM answers what has begun, closes what is idle, and ends', async () => {
    const { child, url } = programs[1]!;
    const agent = new Agent({ keepAlive: true });
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const [response] = (await once(get(`${url}/health/live`, { agent }), 'response')) as [
          IncomingMessage,
        ];
        return text(response);
      }),
    );
    expect(Object.values(agent.freeSockets).flat()).toHaveLength(20);
    const body = JSON.stringify({ name: 'Frank', email: 'frank@example.com' });
    const inFlight = begin(url, new Agent({ keepAlive: true }), body);
    inFlight.write(body.slice(0, 10));
    const answered = once(inFlight, 'response') as Promise<[IncomingMessage]>;
    const unfinished = begin(url, new Agent({ keepAlive: true }), body);
    unfinished.write(body.slice(0, 10));
    const closed: string[] = [];
    await Promise.all(
      Object.entries({ answered: inFlight, unfinished }).map(async ([name, outgoing]) => {
        const [socket] = (await once(outgoing, 'socket')) as [Socket];
        socket.on('close', () => closed.push(name));
      }),
    );
    // Once another request is answered, the one that began before it has arrived.
    await fetch(`${url}/health/ready`);

    const ended = endOf(child, 'SIGTERM');
    await until('no more connections', async () => {
      try {
        await fetch(`${url}/health/live`);
        return false;
      } catch {
        return true;
      }
    });
    inFlight.end(body.slice(10));
    const [response] = await answered;
    expect([response.statusCode, JSON.parse(await text(response))]).toMatchObject([201, { id: 'frank' }]);
    const { code, ms } = await ended;
    expect(code).toBe(0);
    expect(ms).toBeLessThan(KEEP_ALIVE_MS);
    // It is closed as it falls idle, rather than after the grace that unfinished requests have.
    await until('both connections to be closed', async () => closed.length === 2);
    expect(closed).toEqual(['answered', 'unfinished']);
    agent.destroy();
  });

  test('does not wait for a request that never arrives whole', async () => {
    const { child, url } = programs[2]!;
    const stuck = begin(url, new Agent({ keepAlive: true }), 'x'.repeat(100));
    stuck.write('{');
    await once(stuck, 'socket');
    await fetch(`${url}/health/ready`);
    const { code, ms } = await endOf(child, 'SIGTERM');
    expect(code).toBe(0);
    expect(ms).toBeLessThan(KEEP_ALIVE_MS);
  });

  test('ends as fast on SIGINT, and while Redis is away', async () => {
    const { child, url } = programs[3]!;
    expect((await fetch(`${url}/health/ready`)).status).toBe(503);
    const { code, ms } = await endOf(child, 'SIGINT');
    expect(code).toBe(0);
    expect(ms).toBeLessThan(KEEP_ALIVE_MS);
  });

  test('says that it is not ready for SHUTDOWN_DELAY_MS, serves meanwhile, then ends who waits for a lock', async () => {
    const { child, url } = programs[4]!;
    const take = (waitMs: number): Promise<Response> =>
      fetch(`${url}/v1/locks/busy/acquire`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ leaseMs: 60_000, waitMs }),
      });
    await take(0);
    const waiting = take(30_000);
    const look = async (): Promise<{ queueLength: number }> =>
      (await fetch(`${url}/v1/locks/busy`)).json() as Promise<{ queueLength: number }>;
    await until('the wait', async () => (await look()).queueLength === 1);
    const ended = endOf(child, 'SIGTERM');
    const notReady = await until('503', async () => {
      const response = await fetch(`${url}/health/ready`);
      return response.status === 503 && ((await response.json()) as { type: string });
    });
    expect(notReady.type).toBe('https://mortise.dev/problems/shutting-down');
    expect((await fetch(`${url}/v1/queues/mail`)).status).toBe(200);
    expect((await ended).code).toBe(0);
    const answer = await waiting;
    expect([answer.status, await answer.json()]).toMatchObject([503, { type: notReady.type }]);
  });

  test('ends on SIGTERM, and answers until then, while nobody reads its log', async () => {
    await fillLog(programs[5]!);
    expect((await endOf(programs[5]!.child, 'SIGTERM')).code).toBe(0);
  });

  test('ends on SIGTERM, and answers until then, when the reader of its log has gone', async () => {
    const { child, url } = programs[6]!;
    await fillLog(programs[6]!);
    child.stdout!.destroy();
    await fetch(`${url}/v1/locks/free`);
    expect((await endOf(child, 'SIGTERM')).code).toBe(0);
  });
});
