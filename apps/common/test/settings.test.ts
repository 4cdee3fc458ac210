import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';

import {
  port,
  read,
  readSettings,
  REDIS_FIELDS,
  redisPlaceOf,
  refineRedis,
  SettingsError,
  traceExportOf,
  TRACING_FIELDS,
  wholeNumber,
} from '../src/settings/index.js';

const Environment = z
  .object({
    ...REDIS_FIELDS,
    PORT: port().default(3_000),
    COUNT: wholeNumber(1, 10).optional(),
    LIST: read((text) => {
      if (text.includes('canary')) throw new Error('must be a list');
      return text.split(',');
    }).optional(),
  })
  .superRefine(refineRedis);
const placeOf = (variables: Record<string, string>) => redisPlaceOf(readSettings(Environment, variables));

const folder = mkdtempSync(join(tmpdir(), 'mortise-settings-'));
afterAll(() => rmSync(folder, { recursive: true }));

function problemsOf(variables: Record<string, string>): readonly string[] {
  try {
    readSettings(Environment, variables);
    return [];
  } catch (error) {
    return (error as SettingsError).problems;
  }
}

test('an empty variable is one that is not set', () => {
  expect(readSettings(Environment, { PORT: '', REDIS_URL: '', COUNT: '' })).toMatchObject({ PORT: 3_000 });
});

test('a Cluster, Sentinels and a single server, each with a login', () => {
  const login = { REDIS_USERNAME: 'app', REDIS_PASSWORD: 'secret' };
  expect(placeOf({ REDIS_CLUSTER_NODES: 'a:1, [::1]:65535', ...login })).toEqual({
    type: 'cluster',
    nodes: [
      { host: 'a', port: 1 },
      { host: '::1', port: 65_535 },
    ],
    username: 'app',
    password: 'secret',
    hasTls: false,
  });
  const sentinels = { REDIS_SENTINELS: 'a:1', REDIS_SENTINEL_NAME: 'primary' };
  const ofSentinel = { REDIS_SENTINEL_USERNAME: 'watcher', REDIS_SENTINEL_PASSWORD: 'other' };
  expect(placeOf({ ...sentinels, ...ofSentinel, ...login, REDIS_TLS: 'true' })).toMatchObject({
    type: 'sentinel',
    name: 'primary',
    sentinelUsername: 'watcher',
    sentinelPassword: 'other',
    hasTls: true,
  });
  expect(placeOf({})).toMatchObject({ type: 'single', url: 'redis://127.0.0.1:6379', hasTls: false });
});

describe('every bad value is named, and none is repeated', () => {
  const bad = {
    REDIS_URL: 'http://canary@h',
    REDIS_CLUSTER_NODES: 'user:canary@h:1',
    REDIS_SENTINELS: 'canary',
    REDIS_TLS: 'canary',
    REDIS_CA_FILE: '/nowhere/canary',
    PORT: 'canary',
    COUNT: 'canary',
    LIST: 'canary',
  };

  test('all at once', () => {
    const problems = problemsOf(bad);
    expect(problems.map((problem) => problem.split(':')[0])).toEqual(Object.keys(bad));
    expect(problems.join(' ')).not.toContain('canary');
    expect(() => readSettings(Environment, bad)).toThrow(SettingsError);
  });

  test.each([
    [{ REDIS_URL: 'redis://' }, 'REDIS_URL: must be a URL that begins with redis:// or rediss://'],
    [{ REDIS_CLUSTER_NODES: 'a:1,' }, 'REDIS_CLUSTER_NODES: must be a list host:port,host:port'],
    [{ REDIS_CLUSTER_NODES: 'a:1,b' }, 'REDIS_CLUSTER_NODES: must be a list host:port,host:port'],
    [{ REDIS_CLUSTER_NODES: 'a:1/2' }, 'REDIS_CLUSTER_NODES: must be a list host:port,host:port'],
    [{ REDIS_CLUSTER_NODES: 'user@a:1' }, 'REDIS_CLUSTER_NODES: must be a list host:port,host:port'],
    [{ REDIS_CLUSTER_NODES: 'a:0' }, 'REDIS_CLUSTER_NODES: must be a list host:port,host:port'],
    [{ REDIS_CLUSTER_NODES: 'a:65536' }, 'REDIS_CLUSTER_NODES: must be a list host:port,host:port'],
    [
      { REDIS_URL: 'redis://a', REDIS_SENTINELS: 'a:1', REDIS_SENTINEL_NAME: 'p' },
      'REDIS_URL, REDIS_SENTINELS: only',
    ],
    [{ REDIS_SENTINELS: 'a:1' }, 'REDIS_SENTINELS, REDIS_SENTINEL_NAME: one needs the other'],
    [
      { REDIS_SENTINEL_PASSWORD: 'x' },
      'REDIS_SENTINEL_USERNAME, REDIS_SENTINEL_PASSWORD: they need REDIS_SENTINELS',
    ],
    [{ REDIS_TLS: 'yes please' }, 'REDIS_TLS: must be true or false'],
    [{ PORT: '65536' }, 'PORT: must be a whole number from 0 to 65535'],
    [{ PORT: '1e3' }, 'PORT: must be a whole number from 0 to 65535'],
    [{ COUNT: '0' }, 'COUNT: must be a whole number from 1 to 10'],
    [{ COUNT: '0x1' }, 'COUNT: must be a whole number from 1 to 10'],
  ])('%j', (variables, problem) => {
    expect(problemsOf(variables)).toEqual([expect.stringContaining(problem)]);
  });
});

test('a file of certificates is read at once, and needs TLS', () => {
  const [good, empty] = [join(folder, 'ca.pem'), join(folder, 'empty.pem')];
  writeFileSync(good, '-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n');
  writeFileSync(empty, '');
  expect(placeOf({ REDIS_URL: 'rediss://a', REDIS_CA_FILE: good }).ca).toContain('BEGIN CERTIFICATE');
  expect(problemsOf({ REDIS_CA_FILE: good })).toEqual(['REDIS_CA_FILE: it needs REDIS_TLS or rediss://']);
  expect(problemsOf({ REDIS_TLS: 'true', REDIS_CA_FILE: empty })).toEqual([
    'REDIS_CA_FILE: the file has no certificate (PEM)',
  ]);
});

describe('traceExportOf', () => {
  const exportOf = (variables: Record<string, string>) =>
    traceExportOf(readSettings(z.object(TRACING_FIELDS), variables));
  const endpoint = 'http://collector:4318';

  test.each([
    [{}, undefined],
    [{ OTEL_SERVICE_NAME: 'a' }, undefined],
    [{ OTEL_TRACES_EXPORTER: 'otlp' }, { protocol: 'http/protobuf' }],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }, { protocol: 'http/protobuf' }],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint }, { protocol: 'http/protobuf' }],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_EXPORTER: 'none' }, undefined],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SDK_DISABLED: 'true' }, undefined],
    [
      {
        OTEL_TRACES_EXPORTER: 'otlp',
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
        OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
      },
      { protocol: 'http/json' },
    ],
  ])('%j', (variables: Record<string, string>, expected) => {
    expect(exportOf(variables)).toEqual(expected);
  });

  test('names what it cannot do, and repeats no value', () => {
    const variables = {
      OTEL_TRACES_EXPORTER: 'canary',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'canary:4317',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    };
    expect(() => exportOf(variables)).toThrow(
      new SettingsError([
        'OTEL_TRACES_EXPORTER: must be otlp or none',
        'OTEL_EXPORTER_OTLP_ENDPOINT: must be a URL that begins with http:// or https://',
        'OTEL_EXPORTER_OTLP_PROTOCOL: must be http/protobuf or http/json',
      ]),
    );
  });
});
