/** Each block of `sh` or `sql` runs as its page says, against the API, Redis and PostgreSQL, and gives the answers of the page. A block of an answer has that of its hidden commands. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Refresher, RowCache } from '@mortise/cache/rows';
import { startPostgres, type PostgresServer } from '@mortise/postgres-server';
import { findRedisServer, startSingle, type RedisServer } from '@mortise/redis-server';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { ADMIN_KEY, startApi, type ApiProcess } from '../src/api-process.js';
import { commandBlocks, shownAnswers } from '../src/commands/blocks.js';
import { NOT_RUN } from '../src/commands/not-run.js';
import { differenceOf, keeps, runShell, runSql } from '../src/commands/run.js';
import { documents } from '../src/documents.js';
import { root } from '../src/pages.js';

const FILE_BYTES = 400_000;

const answers = documents().flatMap(({ file, text }) =>
  shownAnswers(text).map((answer) => ({ place: `${file}:${answer.line}`, ...answer })),
);
const blocks = documents().flatMap(({ file, text }) =>
  commandBlocks(text).map((block) => ({ place: `${file}:${block.line}`, ...block })),
);
const isExcused = ({ commands }: { commands: readonly string[] }): boolean =>
  NOT_RUN.some(({ begins }) => commands.join('\n').startsWith(begins));
// A file of examples, which the tests of its package run.
const isFile = ({ commands }: { commands: readonly string[] }): boolean => commands[0]!.startsWith('-- ');
const shown = blocks.filter((block) => !isExcused(block) && !isFile(block));

let redis: RedisServer;
let configured: RedisServer;
let postgres: PostgresServer;
let api: ApiProcess;
let client: Redis;
/** The worker of the cached rows. */
let refresher: Refresher;
let sql: Client;
let env: NodeJS.ProcessEnv;
const folder = mkdtempSync(join(tmpdir(), 'mortise-commands-'));

beforeAll(async () => {
  [redis, configured, postgres] = await Promise.all([
    startSingle({ appendFsync: 'everysec' }),
    startSingle(),
    startPostgres(),
  ]);
  api = await startApi({ REDIS_URL: redis.url, CACHE_TABLES: 'stock' });
  const server = await findRedisServer();
  const { NODE_OPTIONS: _, ...inherited } = process.env;
  const servers = {
    API: 'http://127.0.0.1:3000',
    API_PORT: api.port,
    REDIS_URL: redis.url,
    REDIS_SERVER: server.path,
  };
  env = { ...inherited, ...server.env, ...servers, CONFIGURED_URL: configured.url, ADMIN_KEY, ROOT: root };
  mkdirSync(join(folder, 'logs'));
  for (const name of ['day.log', 'logs/web-1.log']) writeFileSync(join(folder, name), 'x'.repeat(FILE_BYTES));
  client = new Redis(redis.url);
  const load = async (ids: readonly string[]): Promise<ReadonlyMap<string, object>> =>
    new Map(ids.map((id) => [id, { id, name: 'sword', left: 3 }]));
  refresher = new Refresher(client, [new RowCache(client, 'stock', { load })]);
  await refresher.start();
  sql = new Client({ connectionString: postgres.url });
  await sql.connect();
  await sql.query(readFileSync(join(root, 'packages/queues/examples/outbox/outbox.sql'), 'utf8'));
});
afterAll(async () => {
  api.stop();
  await refresher.stop();
  client.disconnect();
  await sql.end();
  await Promise.all([redis, configured, postgres].map((server) => server.stop()));
  rmSync(folder, { recursive: true, force: true });
});

test('a block that no test runs has a reason, and each reason has a block', () => {
  const unused = NOT_RUN.filter(
    ({ begins }) => !blocks.some(({ commands }) => commands.join('\n').startsWith(begins)),
  );
  expect(unused).toEqual([]);
  expect(shown.length).toBeGreaterThan(20);
});

describe.each(shown)('$place', (block) => {
  test('gives its answers', async () => {
    const given = block.language === 'sh' ? await runShell(block, env, folder) : await runSql(block, sql);
    expect(block.answers).toHaveLength(given.length);
    const others = given.filter((answer, index) => !keeps(answer, block.answers![index]!));
    expect(others).toEqual([]);
  });
});

test.each(answers)('$place is the answer of a command', async ({ commands, ...answer }) => {
  const { line } = answer;
  const block = { line, language: 'sh' as const, commands, setup: [], answers: undefined };
  const given = await runShell(block, env, folder);
  expect(differenceOf(given.at(-1)!.text, answer)).toBeUndefined();
});
