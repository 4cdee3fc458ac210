/** The API as a process, with a client of 50 connections in this one. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../../../../../apps/api/dist/main.js', import.meta.url));
const CONNECTIONS = 50;
/** The message with the port of the metrics. */
const METRICS_LINE = 'health checks and metrics are answered';
/** The beginning of a line of its log that says what is as it should be. */
const LEVEL_INFO = '{"level":30,';
/** Linux counts the CPU time of a process in hundredths of a second. */
const TICK_MICROS = 10_000;

interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
}

export interface ApiReply {
  readonly status: number;
  readonly text: string;
}

export interface ApiServer {
  send(request: ApiRequest): Promise<ApiReply>;
  /** The CPU time that the process has used, µs. */
  cpuMicros(): number;
  /** The memory of the process, MiB. */
  residentMib(): number;
  /** The heap of JavaScript in use, garbage included, MiB. */
  heapMib(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts the built API and waits until it is ready. */
export async function startApi(
  env: Record<string, string>,
  headers: Record<string, string>,
): Promise<ApiServer> {
  const child = spawn(process.execPath, [PROGRAM], {
    env: { PORT: '0', METRICS_PORT: '0', LOG_LEVEL: 'info', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  // Also when a measurement fails.
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  const lines = createInterface({ input: child.stdout });
  let metricsPort = 0;
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the API ended before it listened')));
    lines.on('line', (line) => {
      const { msg, url: address, port } = JSON.parse(line) as { msg: string; url: string; port: number };
      if (msg === METRICS_LINE) metricsPort = port;
      if (msg === 'listening') resolve(address);
    });
  });
  // Its log is read and thrown away, as a collector would, but for warnings and errors.
  lines.removeAllListeners('line').on('line', (line) => {
    if (!line.startsWith(LEVEL_INFO)) console.error(line);
  });
  let isStopping = false;
  child.once('exit', (code, signal) => {
    if (!isStopping) console.error(`the API ended with ${code ?? signal}`);
  });
  const { hostname, port } = new URL(url);
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  return {
    send: ({ method, path, body }) =>
      new Promise((resolve, reject) => {
        const text = body === undefined ? undefined : JSON.stringify(body);
        const outgoing = request({
          hostname,
          port,
          agent,
          method,
          path,
          headers: {
            ...headers,
            ...(text !== undefined && {
              'content-type': 'application/json',
              'content-length': Buffer.byteLength(text),
            }),
          },
        });
        outgoing.on('response', (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
          );
          response.on('error', reject);
        });
        outgoing.on('error', reject);
        outgoing.end(text);
      }),
    cpuMicros: () => {
      // The name of the program, in parentheses, may have spaces; utime and stime are the 12th and 13th after it.
      const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
      return (Number(fields[11]) + Number(fields[12])) * TICK_MICROS;
    },
    residentMib: () => {
      const [, kib = ''] =
        /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
      return Number(kib) / 1_024;
    },
    heapMib: async () => {
      const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
      const [, bytes] = /^nodejs_heap_size_used_bytes\{[^}]*\} (\d+)/m.exec(metrics)!;
      return Number(bytes) / 1_048_576;
    },
    stop: async () => {
      isStopping = true;
      agent.destroy();
      if (child.exitCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

/** Runs `act` for so many seconds, as many at once as there are connections, and returns how long each took, ms. */
export async function load(seconds: number, act: (nth: number) => Promise<unknown>): Promise<number[]> {
  const endsAt = performance.now() + seconds * 1_000;
  const took: number[] = [];
  let count = 0;
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (performance.now() < endsAt) {
        const startedAt = performance.now();
        await act((count += 1));
        took.push(performance.now() - startedAt);
      }
    }),
  );
  return took;
}
