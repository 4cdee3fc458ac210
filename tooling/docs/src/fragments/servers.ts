/** The servers that pages name: an address of a page leads to a server of the test. */
import { startPostgres } from '@mortise/postgres-server';
import { startCluster, startSentinel, startSingle } from '@mortise/redis-server';
import { Redis } from 'ioredis';
import { Client } from 'pg';

export interface Servers extends AsyncDisposable {
  readonly hosts: Readonly<Record<string, string>>;
  /** Each program begins with empty servers. */
  flush(): Promise<void>;
}

/** The table that pages about rows read. */
const SHOP = `
  create table items (id text primary key, name text not null, stock int not null);
  insert into items values ('42', 'sword', 7);
  create table invoices (id bigint primary key, state text not null);
  insert into invoices values (42, 'open');`;

export async function startServers(): Promise<Servers> {
  const [cluster, sentinel, postgres, ...singles] = await Promise.all([
    startCluster(),
    startSentinel(),
    startPostgres(),
    ...Array.from({ length: 4 }, () => startSingle({ isCluster: true })),
  ]);
  await fill(postgres.url, postgres.urlOf('shop'));
  const addresses = singles.map(({ host, port }) => `${host}:${port}`);
  const node = `${cluster.nodes[0]!.host}:${cluster.nodes[0]!.port}`;
  const [main, second, third, fourth] = addresses as [string, string, string, string];
  const hosts: Record<string, string> = {
    '127.0.0.1:6379': main,
    'localhost:6379': main,
    'reports:6379': second,
    'redis-a:6379': second,
    'redis-b:6379': third,
    'redis-c:6379': fourth,
    'redis-1:6379': node,
    'redis-2:6379': node,
    '10.0.0.1:6379': node,
    '127.0.0.1:5432': `${postgres.host}:${postgres.port}`,
  };
  const master = await sentinel.master();
  // The name in the documentation of Redis, which pages use.
  const watch = ['SENTINEL', 'MONITOR', 'mymaster', master.host, String(master.port), '2'];
  await Promise.all(sentinel.sentinelServers.map((server) => server.command(...watch)));
  hosts['redis-master:6379'] = `${master.host}:${master.port}`;
  for (const [index, { host, port }] of sentinel.sentinels.entries())
    hosts[`sentinel-${index + 1}:26379`] = `${host}:${port}`;
  const clients = singles.map(({ url }) => new Redis(url));
  return {
    hosts,
    async flush() {
      await Promise.all(clients.map((client) => client.flushall()));
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.disconnect();
      await Promise.all([cluster, sentinel, postgres, ...singles].map((server) => server.stop()));
    },
  };
}

async function fill(url: string, shop: string): Promise<void> {
  const admin = new Client({ connectionString: url });
  await admin.connect();
  await admin.query('create role shop superuser login');
  await admin.query('create database shop');
  await admin.end();
  const client = new Client({ connectionString: shop });
  await client.connect();
  await client.query(SHOP);
  await client.end();
}
