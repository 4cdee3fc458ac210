import { readFileSync } from 'node:fs';

import { describe, expect, test } from '@jest/globals';

import { REDIS_FIELDS, SettingsError, TRACING_FIELDS } from '@mortise/app-common/settings';

import { readConfig } from '../src/config.js';

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
  }
  return [];
}

const ISSUER = {
  JWT_JWKS_URL: 'https://login.example.com/keys',
  JWT_ISSUER: 'https://login.example.com',
  JWT_AUDIENCE: 'mortise',
};

describe('readConfig', () => {
  test('has a default for everything; an empty variable is one that is not set', () => {
    const defaults = {
      HOST: '127.0.0.1',
      PORT: 3000,
      LOG_LEVEL: 'info',
      MORTISE_PREFIX: 'mortise',
      REDIS_TLS: false,
      REDIS_COMMAND_TIMEOUT_MS: 750,
      REQUEST_DEADLINE_MS: 850,
      SHUTDOWN_DELAY_MS: 0,
      MAX_STREAMS: 1_000,
      STREAM_HEARTBEAT_MS: 15_000,
      STREAM_TIMEOUT_MS: 10_000,
      MAX_TRANSFERS: 100,
      FILE_MAX_BYTES: 2_147_483_648,
      FILE_WINDOW_BYTES: 33_554_432,
      FILE_BUDGET_BYTES: 134_217_728,
      FILE_TIMEOUT_MS: 30_000,
      FILE_RESUME_MS: 60_000,
      FILE_TTL_MS: 86_400_000,
      CACHE_TABLES: [],
      BOOK_MAX_NAMES: 1_000_000,
      METRICS_HOST: '127.0.0.1',
      DOCS: 'on',
      CONSOLE: 'off',
      HSTS_MAX_AGE_S: 0,
      MAX_CONNECTIONS: 10_000,
      AUTH: 'keys',
      QUOTA_COUNT_MS: 10_000,
      REDACT: ['password', 'secret', 'token', 'authorization', 'apiKey', 'creditCard'],
      SESSION_TTL_MS: 43_200_000,
    };
    expect(readConfig({})).toEqual(defaults);
    expect(readConfig({ PORT: '', REDIS_URL: '', HOME: '/root' })).toEqual(defaults);
  });

  test('reads addresses of nodes, IPv6 too', () => {
    const { REDIS_CLUSTER_NODES } = readConfig({ REDIS_CLUSTER_NODES: 'a:1, [::1]:65535' });
    expect(REDIS_CLUSTER_NODES).toEqual([
      { host: 'a', port: 1 },
      { host: '::1', port: 65_535 },
    ]);
  });

  test.each([
    { AUTH: 'off', HOST: 'localhost' },
    { AUTH: 'off', HOST: '::1' },
    { AUTH: 'off', HOST: '127.0.0.2' },
    { AUTH: 'off-everywhere', HOST: '0.0.0.0' },
    { AUTH: 'off-everywhere', NODE_ENV: 'production' },
    { NODE_ENV: 'production', ADMIN_KEY: 'mk_admin_0123456789012345678901' },
    { HOST: '0.0.0.0', ...ISSUER },
    { ...ISSUER, JWT_JWKS_URL: 'http://127.0.0.1:1/keys' },
  ])('takes %j', (env) => {
    expect(problemsOf(env)).toEqual([]);
  });

  test('names every variable that is wrong at once', () => {
    const wrong = {
      PORT: '70000',
      LOG_LEVEL: 'loud',
      REDIS_URL: 'http://x',
      REDIS_TLS: 'maybe',
      SHUTDOWN_DELAY_MS: 'x',
    };
    expect(problemsOf(wrong).map((problem) => problem.split(':')[0])).toEqual([
      'PORT',
      'LOG_LEVEL',
      'REDIS_URL',
      'REDIS_TLS',
      'SHUTDOWN_DELAY_MS',
    ]);
  });

  test.each([
    [{ PORT: '1.5' }, 'PORT'],
    [{ CACHE_TABLES: 'stock,stock' }, 'CACHE_TABLES'],
    [{ CACHE_TABLES: 'stock;drop' }, 'CACHE_TABLES'],
    [{ PORT: '-1' }, 'PORT'],
    [{ MAX_STREAMS: '0' }, 'MAX_STREAMS'],
    [{ STREAM_HEARTBEAT_MS: '1' }, 'STREAM_HEARTBEAT_MS'],
    [{ ALLOWED_ORIGINS: '*' }, 'ALLOWED_ORIGINS'],
    [{ ALLOWED_ORIGINS: 'null' }, 'ALLOWED_ORIGINS'],
    [{ ALLOWED_ORIGINS: 'https://a.example/' }, 'ALLOWED_ORIGINS'],
    [{ ALLOWED_ORIGINS: 'https://a.example,ftp://b.example' }, 'ALLOWED_ORIGINS'],
    [{ REDIS_URL: 'redis://' }, 'REDIS_URL'],
    [{ REDIS_COMMAND_TIMEOUT_MS: '0' }, 'REDIS_COMMAND_TIMEOUT_MS'],
    [{ REQUEST_DEADLINE_MS: '9' }, 'REQUEST_DEADLINE_MS'],
    [{ REQUEST_DEADLINE_MS: '60001' }, 'REQUEST_DEADLINE_MS'],
    [{ REDIS_CLUSTER_NODES: 'a:1,b' }, 'REDIS_CLUSTER_NODES'],
    [{ REDIS_CLUSTER_NODES: 'a:0' }, 'REDIS_CLUSTER_NODES'],
    [{ REDIS_CLUSTER_NODES: 'redis://a:1' }, 'REDIS_CLUSTER_NODES'],
    [{ CONSOLE: 'yes' }, 'CONSOLE'],
    [{ REDACT: 'password,,token' }, 'REDACT'],
    [{ REDACT: 'x'.repeat(129) }, 'REDACT'],
    [{ AUTH: 'on' }, 'AUTH'],
    [{ AUTH: 'off', HOST: '0.0.0.0' }, 'AUTH'],
    [{ AUTH: 'off', HOST: '127.0.0.1.example.com' }, 'AUTH'],
    [{ AUTH: 'off', NODE_ENV: 'production' }, 'AUTH'],
    [{ HOST: '0.0.0.0' }, 'ADMIN_KEY'],
    [{ NODE_ENV: 'production' }, 'ADMIN_KEY'],
    [{ JWT_ISSUER: 'a' }, 'JWT_JWKS_URL, JWT_ISSUER, JWT_AUDIENCE'],
    [{ ...ISSUER, JWT_JWKS_URL: 'http://login.example.com/keys' }, 'JWT_JWKS_URL'],
    [{ KEY_LIMIT: '600' }, 'KEY_LIMIT'],
    [{ TENANT_LIMIT: '0/60' }, 'TENANT_LIMIT'],
    [{ ADMIN_KEY: 'secret' }, 'ADMIN_KEY'],
    [{ ADMIN_KEY: 'mk_ad.min_0123456789012345678901' }, 'ADMIN_KEY'],
    [{ ADMIN_KEY: 'mk_admin_012345678901234567890' }, 'ADMIN_KEY'],
    [{ REDIS_SENTINELS: 'a:1' }, 'REDIS_SENTINELS, REDIS_SENTINEL_NAME'],
    [{ REDIS_SENTINEL_NAME: 'main' }, 'REDIS_SENTINELS, REDIS_SENTINEL_NAME'],
    [{ REDIS_URL: 'redis://a', REDIS_CLUSTER_NODES: 'a:1' }, 'REDIS_URL, REDIS_CLUSTER_NODES'],
  ])('refuses %j', (env, variable) => {
    expect(problemsOf(env as Record<string, string>).map((problem) => problem.split(':')[0])).toEqual([
      variable,
    ]);
  });

  test('takes the variables that the reference names', () => {
    const reference = new URL('../../../docs/service/reference/api-settings.md', import.meta.url);
    const page = readFileSync(reference, 'utf8');
    const source = readFileSync(new URL('../src/config.ts', import.meta.url), 'utf8');
    const documented = Array.from(page.matchAll(/^\| `([A-Z_]+)` +\|/gm), ([, name]) => name);
    const groups: Readonly<Record<string, object>> = { REDIS_FIELDS, TRACING_FIELDS };
    const read = Array.from(source.matchAll(/^ {4}(?:([A-Z_]+): |\.\.\.(\w+))/gm), ([, name, group]) =>
      name === undefined ? Object.keys(groups[group!]!) : name,
    ).flat();
    expect(documented).toEqual(read);
    expect(read.length).toBe(54);
  });
});
