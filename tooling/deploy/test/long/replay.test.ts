/**
 * Builds both images step by step without docker, and runs them with the settings of deploy/: without root, where they can write
 * nothing, with nothing but what is in the image.
 */
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { startPostgres } from '@mortise/postgres-server';
import { startSingle } from '@mortise/redis-server';
import { directoryMade, directoryRemoved, freePort } from '@mortise/server-process';
import { until } from '@mortise/test-kit';
import { Client } from 'pg';
import { composeWith } from '../../src/compose.js';
import { Container } from '../../src/container.js';
import { buildImage, type Image } from '../../src/image.js';
import { deploymentsOf, environmentOf, objectsIn, rendered } from '../../src/kubernetes.js';
import { APPS, type App } from '../../src/repository.js';

const PASSWORDS = {
  REDIS_PASSWORD: 'redis1',
  POSTGRES_PASSWORD: 'postgres1',
  ADMIN_KEY: 'mk_admin_0123456789012345678901',
};
const authorization = `Bearer ${PASSWORDS.ADMIN_KEY}`;
const { services, configs } = composeWith(PASSWORDS);
const directory = realpathSync(mkdtempSync(join(tmpdir(), 'replay-')));
directoryMade(directory);
chmodSync(directory, 0o755);
const images = new Map<App, Image>();
const running: Container[] = [];

/** `redis.conf` of compose.yaml, as it is; the password follows, since the start of a server asks it without one. */
const redis = await startSingle({
  args: configs['redis']!.content.trim()
    .split('\n')
    .filter((line) => !line.startsWith('requirepass'))
    .flatMap((line) => `--${line}`.split(' ')),
});
const policy = await redis.command('CONFIG', 'GET', 'maxmemory-policy');
await redis.command('CONFIG', 'SET', 'requirepass', PASSWORDS.REDIS_PASSWORD);
const postgres = await startPostgres();

beforeAll(async () => {
  for (const app of APPS) images.set(app, buildImage(app, join(directory, app)));
  await query('postgres', 'CREATE ROLE mortise LOGIN SUPERUSER', 'CREATE DATABASE mortise OWNER mortise');
  // As the image of PostgreSQL runs it.
  await query('mortise', configs['stock']!.content, `INSERT INTO stock VALUES ('sword', 'Sword', 7)`);
});

afterEach(async () => {
  for (const container of running.splice(0)) {
    container.kill();
    await container.exited();
  }
});

afterAll(async () => {
  await redis.stop();
  await postgres.stop();
  rmSync(directory, { recursive: true });
  directoryRemoved(directory);
});

async function query(database: string, ...statements: string[]): Promise<void> {
  const client = new Client({ connectionString: postgres.urlOf(database) });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

/** Host names of deploy/ lead to the servers of this test. */
function here(variables: Readonly<Record<string, string>>): Record<string, string> {
  const ports: Readonly<Record<string, number>> = {
    redis: redis.port,
    'mortise-redis': redis.port,
    postgres: postgres.port,
  };
  const lead = (value: string): string =>
    value.replace(/(?<=\/\/|@)([\w-]+):\d+/, (whole, host: string) =>
      host in ports ? `127.0.0.1:${ports[host]}` : whole,
    );
  return Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, lead(value)]));
}

async function start(
  app: App,
  variables: Readonly<Record<string, string>>,
): Promise<{ container: Container; status: (path: string) => Promise<number>; url: string }> {
  const port = await freePort(false);
  const address =
    app === 'api'
      ? { HOST: '127.0.0.1', PORT: String(port), METRICS_HOST: '127.0.0.1', METRICS_PORT: '0' }
      : { WORKER_HOST: '127.0.0.1', WORKER_PORT: String(port) };
  const container = Container.start(images.get(app)!, { ...here(variables), ...address });
  running.push(container);
  const url = `http://127.0.0.1:${port}`;
  const status = (path: string): Promise<number> =>
    fetch(`${url}${path}`, { headers: { authorization } }).then(
      (response) => response.status,
      () => 0,
    );
  await until(`the ${app} to be ready`, async () => {
    if (!container.isRunning) throw new Error(`the ${app} has ended:\n${container.output}`);
    return (await status('/health/ready')) === 200;
  });
  return { container, status, url };
}

function send(method: string, url: string, body: object): Promise<Response> {
  const headers = { authorization, 'content-type': 'application/json' };
  return fetch(url, { method, headers, body: JSON.stringify(body) });
}

/** A folder that only the container may write to: a tmpfs. */
function writableFolder(name: string): string {
  const folder = join(directory, name);
  mkdirSync(folder, { recursive: true });
  if (process.getuid?.() === 0) chownSync(folder, 65_534, 65_534);
  return folder;
}

describe.each(APPS)('the image of the %s', (app) => {
  test('has no sources, no tests and no tool', () => {
    const { folder } = images.get(app)!;
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    const ours = files.filter((file) => !file.startsWith('node_modules/') || file.includes('/@mortise/'));
    expect(
      ours.filter((file) => /(^|\/@mortise\/[\w-]+\/)(src|test|dist\/examples)(\/|$)/.test(file)),
    ).toEqual([]);
    const packages = readdirSync(join(folder, 'node_modules/.pnpm'));
    expect(packages.filter((name) => /^(typescript|turbo|jest|esbuild|@swc)[@+]/.test(name))).toEqual([]);
    expect(files).toEqual(expect.arrayContaining(['dist/main.js', 'package.json']));
  });
});

test('compose: both apps work together, write nothing, report their health, and stop when asked', async () => {
  expect(policy).toEqual(['maxmemory-policy', 'noeviction']);
  const mails = writableFolder('mails');
  const api = await start('api', services['api']!.environment);
  const worker = await start('worker', { ...services['worker']!.environment, MAIL_DIR: mails });
  for (const { container } of [api, worker]) {
    expect(container.canWrite()).toBe(false);
    expect(container.isHealthy()).toBe(true);
  }

  const player = { name: 'Anna', email: 'anna@example.com' };
  expect((await send('PUT', `${api.url}/v1/market/players/anna`, player)).status).toBe(201);
  const reset = await send('POST', `${api.url}/v1/market/password-resets`, { playerId: 'anna' });
  expect(reset.status).toBe(202);
  await until('the mail of the password reset', () =>
    readdirSync(mails).some((name) => /^[^.].*\.eml$/.test(name)),
  );

  const scheduled = await send('PUT', `${api.url}/v1/cache/stock/rows/sword`, { refreshMs: 1_000 });
  expect(scheduled.ok).toBe(true);
  const row = await until('the row of the stock', async () => {
    const response = await fetch(`${api.url}/v1/cache/stock/rows/sword`, { headers: { authorization } });
    return response.status === 200 && response.text();
  });
  expect(row).toContain('Sword');

  for (const { container } of [worker, api]) {
    container.terminate();
    expect(await container.exited()).toBe(0);
    expect(container.isHealthy()).toBe(false);
  }
});

test('KEDA finds numbers where its triggers look, with a key of one scope', async () => {
  const { url, container } = await start('api', services['api']!.environment);
  await send('POST', `${url}/v1/queues/mail/tasks`, { name: 'mail.none', payload: null });
  const made = await send('PUT', `${url}/v1/admin/keys/keda`, { scopes: ['queues:read'] });
  const { key } = (await made.json()) as { key: string };
  const asked = await fetch(`${url}/v1/queues/mail`, { headers: { authorization: `Bearer ${key}` } });
  const answer = (await asked.json()) as Record<string, unknown>;
  const [scaled] = objectsIn('keda.yaml');
  for (const { metadata } of scaled!.spec['triggers'] as { metadata: { valueLocation: string } }[]) {
    const value = metadata.valueLocation
      .split('.')
      .reduce<unknown>((object, field) => (object as Record<string, unknown>)[field], answer);
    expect(value).toEqual(expect.any(Number));
  }
  container.terminate();
  expect(await container.exited()).toBe(0);
});

test.each(['development', 'production'])(
  'kubernetes, %s: both apps start with its variables, and the API says when it stops',
  async (overlay) => {
    const secret = {
      REDIS_URL: `redis://:${PASSWORDS.REDIS_PASSWORD}@redis:6379`,
      SMTP_URL: 'smtp://mail.example.com:587',
      REDIS_PASSWORD: PASSWORDS.REDIS_PASSWORD,
      ADMIN_KEY: PASSWORDS.ADMIN_KEY,
    };
    const variables = new Map(
      deploymentsOf(rendered(`overlays/${overlay}`)).map(({ metadata, spec }) => [
        metadata.name,
        environmentOf(spec.template.spec.containers[0]!, secret),
      ]),
    );
    const worker = await start('worker', variables.get('mortise-worker')!);
    const api = await start('api', variables.get('mortise-api')!);
    api.container.terminate();
    await until('the 503 of the readiness probe', async () => (await api.status('/health/ready')) === 503);
    // Requests are still answered, as long as a balancer may send them.
    expect(await api.status('/v1/queues')).toBe(200);
    expect(await api.status('/health/live')).toBe(200);
    expect(await api.container.exited()).toBe(0);
    worker.container.terminate();
    expect(await worker.container.exited()).toBe(0);
  },
);
