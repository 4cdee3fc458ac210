import { describe, expect, test } from '@jest/globals';

import { SettingsError } from '@mortise/app-common/settings';

import { readConfig } from '../src/config.js';

describe('readConfig', () => {
  test('nothing set: Redis on loopback, mails as files, no health checks', () => {
    expect(readConfig({})).toEqual({
      redis: { type: 'single', url: 'redis://127.0.0.1:6379', hasTls: false },
      prefix: 'mortise',
      smtpUrl: undefined,
      mailDirectory: '.data/mail',
      sender: { name: 'Fake Game', address: 'market@mortise.localhost', domain: 'mortise.localhost' },
      queues: new Map([
        ['mail', 50],
        ['market', 50],
      ]),
      leaseMs: 10_000,
      unknownAfterMs: 600_000,
      shutdownTimeoutMs: 10_000,
      healthPort: undefined,
      healthHost: '127.0.0.1',
      logLevel: 'info',
    });
  });

  test('everything set', () => {
    const config = readConfig({
      REDIS_SENTINELS: '10.0.0.1:26379, sentinel.example:26380,[::1]:26381',
      REDIS_SENTINEL_NAME: 'primary',
      MORTISE_PREFIX: 'game',
      SMTP_URL: 'smtps://user:pass@smtp.example.com',
      MAIL_DIR: '/var/mail',
      MAIL_DOMAIN: 'game.example.com',
      WORKER_CONCURRENCY: '7',
      WORKER_LEASE_MS: '30000',
      WORKER_UNKNOWN_AFTER_MS: '0',
      WORKER_SHUTDOWN_TIMEOUT_MS: '0',
      WORKER_PORT: '0',
      WORKER_HOST: '0.0.0.0',
      LOG_LEVEL: 'debug',
    });
    expect(config).toEqual({
      redis: {
        type: 'sentinel',
        sentinels: [
          { host: '10.0.0.1', port: 26379 },
          { host: 'sentinel.example', port: 26380 },
          { host: '::1', port: 26381 },
        ],
        name: 'primary',
        hasTls: false,
      },
      prefix: 'game',
      smtpUrl: 'smtps://user:pass@smtp.example.com',
      mailDirectory: '/var/mail',
      sender: { name: 'Fake Game', address: 'market@game.example.com', domain: 'game.example.com' },
      queues: new Map([
        ['mail', 7],
        ['market', 7],
      ]),
      leaseMs: 30_000,
      unknownAfterMs: 0,
      shutdownTimeoutMs: 0,
      healthPort: 0,
      healthHost: '0.0.0.0',
      logLevel: 'debug',
    });
  });

  test('queues, each with a number of tasks of its own or that of all', () => {
    const { queues } = readConfig({ WORKER_QUEUES: 'market:2, mail', WORKER_CONCURRENCY: '9' });
    expect([...queues]).toEqual([
      ['market', 2],
      ['mail', 9],
    ]);
  });

  test('a secret makes the worker serve webhooks too', () => {
    const secret = Buffer.alloc(24, 1);
    const { queues, webhooks } = readConfig({
      WEBHOOK_SECRET: `whsec_${secret.toString('base64')}`,
      WEBHOOK_ALLOWED_NETWORKS: '10.1.0.0/16, fd00::/8',
      WEBHOOK_ALLOW_HTTP: 'true',
    });
    expect([...queues.keys()]).toEqual(['mail', 'market', 'webhook']);
    expect(webhooks).toMatchObject({ secret, allowsHttp: true });
    expect(webhooks!.allowed.check('10.1.255.255')).toBe(true);
  });

  test('access logs', () => {
    const set = { ACCESS_LOG_CHANNEL: 'logs', GEO_RANGES: 'ranges.csv' };
    expect(readConfig(set).accessLogs).toEqual({
      channel: 'logs',
      receiver: 'worker',
      share: { index: 0, of: 1 },
      ranges: 'ranges.csv',
      keepMs: 400 * 86_400_000,
      maxAgeMs: 400 * 86_400_000,
    });
    const all = {
      ACCESS_LOG_CHANNEL: 'logs',
      ACCESS_LOG_RECEIVER: 'worker-2',
      ACCESS_LOG_SHARE: '2/3',
      ACCESS_LOG_RETENTION_DAYS: '30',
      ACCESS_LOG_MAX_AGE_DAYS: '3000',
      GEOIP_DB: '/data/city.mmdb',
    };
    expect(readConfig(all).accessLogs).toEqual({
      channel: 'logs',
      receiver: 'worker-2',
      share: { index: 1, of: 3 },
      ranges: '/data/city.mmdb',
      keepMs: 30 * 86_400_000,
      maxAgeMs: 3_000 * 86_400_000,
    });
    expect(readConfig({ GEO_RANGES: 'ranges.csv' }).accessLogs).toBeUndefined();
  });

  test.each([
    [{ ACCESS_LOG_CHANNEL: 'logs' }, 'GEOIP_DB, GEO_RANGES: ACCESS_LOG_CHANNEL needs one of them'],
    [
      { ACCESS_LOG_CHANNEL: 'logs', GEOIP_DB: 'a.mmdb', GEO_RANGES: 'b.csv' },
      'GEOIP_DB, GEO_RANGES: ACCESS_LOG_CHANNEL needs one of them',
    ],
    [{ GEOIP_DB: 'a.csv' }, 'GEOIP_DB: must be a file ….mmdb'],
    [{ ACCESS_LOG_SHARE: '3/2' }, 'ACCESS_LOG_SHARE: the part must not be above the number of parts'],
    [{ ACCESS_LOG_SHARE: '0/2' }, 'ACCESS_LOG_SHARE: must be such as 1/3'],
    [{ ACCESS_LOG_RETENTION_DAYS: '0' }, 'ACCESS_LOG_RETENTION_DAYS: must be a whole number from 1 to 36500'],
  ])('access logs: %j is a mistake', (variables, problem) => {
    expect(() => readConfig(variables)).toThrow(problem);
  });

  test('cached rows', () => {
    expect(readConfig({ DATABASE_URL: 'file:data/stock.db', CACHE_TABLES: 'stock' }).cachedRows).toEqual({
      database: { type: 'sqlite', path: 'data/stock.db' },
      tables: [{ name: 'stock', id: 'id' }],
      isOutboxRead: false,
    });
    const url = 'postgres://worker:secret@db.example.com:5432/shop';
    const all = { DATABASE_URL: url, CACHE_TABLES: 'shop.stock:sku, prices', CACHE_OUTBOX: 'true' };
    expect(readConfig(all).cachedRows).toEqual({
      database: { type: 'postgres', url },
      tables: [
        { name: 'shop.stock', id: 'sku' },
        { name: 'prices', id: 'id' },
      ],
      isOutboxRead: true,
    });
    expect(readConfig({ DATABASE_URL: 'file:///data/a.db', CACHE_TABLES: 'a' }).cachedRows).toMatchObject({
      database: { path: '/data/a.db' },
    });
    expect(readConfig({}).cachedRows).toBeUndefined();
  });

  test.each([
    [{ DATABASE_URL: 'file:a.db' }, 'DATABASE_URL, CACHE_TABLES: one needs the other'],
    [{ CACHE_TABLES: 'stock' }, 'DATABASE_URL, CACHE_TABLES: one needs the other'],
    [
      { DATABASE_URL: 'mysql://h/d', CACHE_TABLES: 'a' },
      'DATABASE_URL: must be postgres://… or file: and the path',
    ],
    [
      { DATABASE_URL: 'file:', CACHE_TABLES: 'a' },
      'DATABASE_URL: must be postgres://… or file: and the path',
    ],
    [{ DATABASE_URL: 'file:a.db', CACHE_TABLES: 'a,a' }, 'CACHE_TABLES: must not name a table twice'],
    [
      { DATABASE_URL: 'file:a.db', CACHE_TABLES: 'a;drop' },
      'CACHE_TABLES: must be tables, each with its column',
    ],
    [{ DATABASE_URL: 'file:a.db', CACHE_TABLES: ',' }, 'CACHE_TABLES: must be tables, each with its column'],
    [{ CACHE_OUTBOX: 'yes please' }, 'CACHE_OUTBOX: must be true or false'],
  ])('cached rows: %j is a mistake', (variables, problem) => {
    expect(() => readConfig(variables)).toThrow(problem);
  });

  test('a cluster', () => {
    expect(readConfig({ REDIS_CLUSTER_NODES: 'a:1,b:65535' }).redis).toEqual({
      type: 'cluster',
      hasTls: false,
      nodes: [
        { host: 'a', port: 1 },
        { host: 'b', port: 65_535 },
      ],
    });
  });

  test('an empty variable is one that is not set', () => {
    expect(readConfig({ REDIS_URL: '', SMTP_URL: '', MAIL_FROM: '', WORKER_PORT: '' })).toEqual(
      readConfig({}),
    );
  });

  test.each([
    ['sales@example.com', '', 'sales@example.com'],
    ['Sales Team <sales@example.com>', 'Sales Team', 'sales@example.com'],
    ['<sales@example.com>', '', 'sales@example.com'],
    ['Märkte & Söhne <sales@example.com>', 'Märkte & Söhne', 'sales@example.com'],
  ])('MAIL_FROM %s', (text, name, address) => {
    expect(readConfig({ MAIL_FROM: text }).sender).toEqual({ name, address, domain: 'mortise.localhost' });
  });

  test.each([
    [{ REDIS_URL: 'http://127.0.0.1' }, 'REDIS_URL: must be a URL that begins with redis:// or rediss://'],
    [{ REDIS_URL: 'redis' }, 'REDIS_URL: must be a URL that begins with redis:// or rediss://'],
    [{ REDIS_SENTINELS: 'a:1' }, 'REDIS_SENTINELS, REDIS_SENTINEL_NAME: one needs the other'],
    [{ MORTISE_PREFIX: 'x'.repeat(1_025) }, 'MORTISE_PREFIX: must have at most 1024 bytes'],
    [{ SMTP_URL: 'mail.example.com' }, 'SMTP_URL: must be a URL that begins with smtp:// or smtps://'],
    [{ SMTP_URL: 'smtp://' }, 'SMTP_URL: must be a URL that begins with smtp:// or smtps://'],
    [
      { SMTP_URL: 'direct://mail.example.com' },
      'SMTP_URL: must be a URL that begins with smtp:// or smtps://',
    ],
    [{ MAIL_DOMAIN: 'localhost' }, 'MAIL_DOMAIN: must be a host name of two labels or more'],
    [{ MAIL_DOMAIN: 'a.b>\r\nX: y' }, 'MAIL_DOMAIN: must be a host name of two labels or more'],
    [
      { MAIL_FROM: 'Sales <a@b.example>\r\nBcc: c@d.example' },
      'MAIL_FROM: not a mail address: a control character',
    ],
    [{ MAIL_FROM: 'Sa\nles <a@b.example>' }, 'MAIL_FROM: not a mail address: a control character'],
    [
      { MAIL_FROM: 'a@b.example, c@d.example' },
      'MAIL_FROM: not a mail address: a control character, a space',
    ],
    ...['mail,', 'mail:0', 'mail:1001', 'mail:1:2', 'mail,mail', 'other', 'Mail'].map(
      (list): [Record<string, string>, string] => [
        { WORKER_QUEUES: list },
        'WORKER_QUEUES: must be some of mail, market, webhook',
      ],
    ),
    [{ WORKER_QUEUES: 'webhook' }, 'WORKER_QUEUES: the queue webhook needs WEBHOOK_SECRET'],
    [
      { WEBHOOK_SECRET: 'whsec_c2hvcnQ=' },
      'WEBHOOK_SECRET: must be whsec_ and the base64 of 24 to 64 random bytes',
    ],
    [{ WEBHOOK_ALLOWED_NETWORKS: '10.0.0.0/33' }, 'WEBHOOK_ALLOWED_NETWORKS: must be networks such as'],
    [{ WEBHOOK_ALLOW_HTTP: 'maybe' }, 'WEBHOOK_ALLOW_HTTP: must be true or false'],
    [{ WORKER_CONCURRENCY: '0' }, 'WORKER_CONCURRENCY: must be a whole number from 1 to 1000'],
    [{ WORKER_CONCURRENCY: '1e3' }, 'WORKER_CONCURRENCY: must be a whole number from 1 to 1000'],
    [{ WORKER_LEASE_MS: '999' }, 'WORKER_LEASE_MS: must be a whole number from 1000 to 3600000'],
    [
      { WORKER_SHUTDOWN_TIMEOUT_MS: '-1' },
      'WORKER_SHUTDOWN_TIMEOUT_MS: must be a whole number from 0 to 3600000',
    ],
    [{ WORKER_PORT: '65536' }, 'WORKER_PORT: must be a whole number from 0 to 65535'],
    [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL: must be one of fatal, error, warn, info, debug, trace, silent'],
  ])('%j is refused', (variables, problem) => {
    const problems = problemsOf(variables);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(problem);
  });

  test('all mistakes are named at once, and no value is repeated', () => {
    const problems = problemsOf({
      REDIS_URL: 'http://:hunter2@redis',
      SMTP_URL: 'http://game:hunter2@smtp',
      MAIL_FROM: 'hunter2',
      WORKER_CONCURRENCY: 'hunter2',
      WORKER_LEASE_MS: '1.5',
      WORKER_QUEUES: 'hunter2',
      WEBHOOK_SECRET: 'hunter2',
      WEBHOOK_ALLOWED_NETWORKS: 'hunter2',
      LOG_LEVEL: 'hunter2',
    });
    expect(problems.map((problem) => problem.split(':')[0])).toEqual([
      'REDIS_URL',
      'SMTP_URL',
      'MAIL_FROM',
      'WORKER_QUEUES',
      'WORKER_CONCURRENCY',
      'WORKER_LEASE_MS',
      'WEBHOOK_SECRET',
      'WEBHOOK_ALLOWED_NETWORKS',
      'LOG_LEVEL',
    ]);
    expect(problems.join('\n')).not.toContain('hunter2');
  });
});

function problemsOf(variables: Record<string, string>): readonly string[] {
  try {
    readConfig(variables);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}
