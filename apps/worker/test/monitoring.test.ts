/** The metrics of both apps as Prometheus reads them, and the dashboard and the alerts that are made of them. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { Queue } from '@mortise/queues';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';

import { Game } from './fixture/game.js';
import type { RunningWorker } from './fixture/game.js';

const REDIS_URL = process.env['MORTISE_TEST_REDIS']!;
const fileOf = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const textOf = (path: string): string => readFileSync(fileOf(path), 'utf8');

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The samples of a scrape. */
function samplesOf(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, name, inner = '', value] = /^([a-z_]\w*)(?:\{(.*)\})? (\S+)/i.exec(line) ?? [];
    if (name === undefined) return [];
    const labels = Array.from(
      inner.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g),
      ([, key, text_]) => [key!, text_!] as const,
    );
    return [{ name, labels: Object.fromEntries(labels), value: Number(value) }];
  });
}

async function scrape(url: string): Promise<Sample[]> {
  const response = await fetch(url);
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    expect.stringContaining('text/plain; version=0.0.4'),
  ]);
  return samplesOf(await response.text());
}

const game = new Game();
const mails = mkdtempSync(join(tmpdir(), 'mortise-monitoring-'));
afterAll(async () => {
  await game[Symbol.asyncDispose]();
  rmSync(mails, { recursive: true });
});

const METRICS_OF = 'health checks and metrics are answered';
let worker: RunningWorker;
let workerUrl: string;
let apiUrl: string;
let metricsUrl: string;
let scraped: readonly Sample[] = [];

let api: ChildProcess | undefined;
afterAll(async () => {
  if (!api || api.exitCode !== null) return;
  api.kill('SIGKILL');
  await once(api, 'exit');
});

/** The API as a process, with an own port for its metrics. */
async function startApi(): Promise<void> {
  const child = spawn(process.execPath, [fileOf('apps/api/dist/main.js')], {
    env: { REDIS_URL, MORTISE_PREFIX: game.prefix, PORT: '0', METRICS_PORT: '0', AUTH: 'off' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  api = child;
  const lines = createInterface({ input: child.stdout });
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the API ended before it listened')));
    lines.on('line', (line) => {
      const entry = JSON.parse(line) as { msg: string; port?: number; url?: string };
      if (entry.msg === METRICS_OF) metricsUrl = `http://127.0.0.1:${entry.port}`;
      if (entry.msg !== 'listening') return;
      apiUrl = entry.url!;
      resolve();
    });
  });
}

beforeAll(async () => {
  await game.putPlayers();
  worker = await game.startWorker({
    WORKER_PORT: '0',
    MAIL_DIR: mails,
  });
  const { port } = worker.lines.find(({ msg }) => msg === METRICS_OF) as unknown as { port: number };
  workerUrl = `http://127.0.0.1:${port}`;
  await startApi();
  await game.taskIn('succeeded', await game.sell());
  // A task that dies: its player is unknown.
  await game.taskIn('dead', await game.sell({ sellerId: 'nobody' }, { attempts: 1 }));
  const requests: [string, string, object?][] = [
    ['POST', '/v1/queues/orders/tasks', { name: 'a', payload: 1 }],
    ['GET', '/v1/queues/orders'],
    ['POST', '/v1/locks/a/acquire', { leaseMs: 60_000 }],
    ['POST', '/v1/chats', { sender: 'ann', members: [], chatId: 'c', body: 1 }],
    ['POST', '/v1/chats', { sender: 'bob', members: ['ann'], chatId: 'd', body: 1 }],
    ['GET', '/v1/members/ann/pending'],
    ['POST', '/v1/semaphores/s/acquire', { permits: 1, leaseMs: 60_000 }],
    ['GET', '/v1/nothing'],
  ];
  for (const [method, path, body] of requests)
    await fetch(apiUrl + path, {
      method,
      ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
  scraped = [...(await scrape(`${workerUrl}/metrics`)), ...(await scrape(`${metricsUrl}/metrics`))];
});

const valueOf = (name: string, labels: Record<string, string> = {}): number | undefined =>
  scraped.find(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  )?.value;

describe('a scrape', () => {
  test('has the lengths of the queues, in both apps', () => {
    for (const app of ['api', 'worker']) {
      expect(valueOf('mortise_queue_tasks', { app, queue: 'orders', state: 'ready' })).toBe(1);
      expect(valueOf('mortise_queue_tasks', { app, queue: 'mail', state: 'dead' })).toBe(1);
      expect(valueOf('mortise_queue_next_task_waiting_seconds', { app, queue: 'orders' })).toBeGreaterThan(0);
      expect(valueOf('mortise_queue_next_task_waiting_seconds', { app, queue: 'mail' })).toBe(0);
      expect(valueOf('mortise_redis_up', { app })).toBe(1);
    }
  });

  test('has the counts and times of the packages', () => {
    const mail = { queue: 'mail', task: 'mail.sold' };
    expect(valueOf('mortise_queues_succeeded_total', { app: 'worker', ...mail })).toBe(1);
    expect(valueOf('mortise_queues_dead_total', { app: 'worker', ...mail })).toBe(1);
    expect(valueOf('mortise_queues_run_seconds_count', { app: 'worker', ...mail })).toBe(2);
    expect(valueOf('mortise_queues_enqueued_total', { app: 'api', queue: 'orders' })).toBe(1);
    expect(valueOf('mortise_locks_wait_seconds_count', { app: 'api', kind: 'mutex' })).toBe(1);
    expect(valueOf('mortise_locks_wait_seconds_count', { app: 'api', kind: 'semaphore' })).toBe(1);
    expect(valueOf('mortise_messaging_posted_total', { app: 'api', kind: 'chat' })).toBe(2);
    expect(valueOf('mortise_messaging_lag_seconds_count', { app: 'api', kind: 'chat' })).toBe(1);
  });

  test('has the requests by route, never by address', () => {
    const count = 'mortise_http_request_seconds_count';
    expect(valueOf(count, { method: 'POST', route: '/v1/queues/:queue/tasks', status: '201' })).toBe(1);
    expect(valueOf(count, { method: 'GET', route: 'none', status: '404' })).toBe(1);
    expect(valueOf('mortise_http_open', { kind: 'connections' })).toBeGreaterThan(0);
    const values = scraped.flatMap(({ labels }) => Object.values(labels));
    expect(values.filter((value) => /orders\/|nothing|locks\/a/.test(value))).toEqual([]);
  });

  test('has at most 100 queues by name, and reads each with a few commands', async () => {
    const names = Array.from({ length: 120 }, (_, index) => `many-${String(index).padStart(3, '0')}`);
    await Promise.all(
      names.map((name) => new Queue(game.redis, name, { prefix: game.prefix }).enqueue('a', 1)),
    );
    const samples = await scrape(`${workerUrl}/metrics`);
    const queues = new Set(
      samples.filter(({ name }) => name === 'mortise_queue_tasks').map(({ labels }) => labels['queue']),
    );
    expect(queues.size).toBe(100);
    expect(samples.find(({ name }) => name === 'mortise_queues')!.value).toBeGreaterThan(120);
  });
});

test('the port of the API answers probes as well', async () => {
  for (const path of ['/health/live', '/health/ready'])
    expect((await fetch(metricsUrl + path)).status).toBe(200);
  expect((await fetch(`${apiUrl}/metrics`)).status).toBe(404);
});

describe('the dashboard and the alerts', () => {
  const dashboard = JSON.parse(textOf('deploy/monitoring/grafana-dashboard.json')) as {
    panels: { title: string; targets: { expr: string }[] }[];
  };
  const alerts = parse(textOf('deploy/monitoring/alerts.yaml')) as {
    groups: { rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[];
  };
  const queries = [
    ...dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
    ...alerts.groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => [alert, expr] as const)),
  ];

  test.each(queries)('%s reads what there is: %s', (_, expr) => {
    const selectors = Array.from(
      expr.matchAll(/\b((?:mortise|nodejs|process)_\w+)(?:\{([^}]*)\})?/g),
      ([, name, inner = '']) => ({
        name: name!,
        labels: Array.from(inner.matchAll(/(\w+)\s*[=!]/g), ([, label]) => label!),
      }),
    );
    expect(selectors.length).toBeGreaterThan(0);
    const grouped = Array.from(expr.matchAll(/\bby \(([^)]*)\)/g), ([, labels]) =>
      labels!.split(/,\s*/),
    ).flat();
    for (const { name, labels } of selectors) {
      // A counter of what has not happened has no series yet: lost leases.
      const known = scraped.filter((sample) => sample.name === name);
      if (name === 'mortise_queues_lease_lost_total') continue;
      expect([name, known.length > 0]).toEqual([name, true]);
      // `instance` comes from Prometheus.
      const needed = [...labels, ...grouped].filter((label) => label !== 'instance');
      for (const label of needed)
        expect([name, label, known.some((sample) => label in sample.labels)]).toEqual([name, label, true]);
    }
  });

  test('each alert says what to do', () => {
    for (const { rules } of alerts.groups)
      for (const { annotations } of rules) expect(Object.keys(annotations)).toEqual(['summary', 'action']);
  });
});
