import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@mortise/server-process';
import { Client } from 'pg';

import { startPostgres, type PostgresServer } from '../src/index.js';

const INDEX = new URL('../dist/index.js', import.meta.url).href;

/** Connects, runs one statement, and leaves. */
async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform === 'linux' && readFileSync(`/proc/${pid}/cmdline`, 'utf8') === '';
  } catch {
    return true;
  }
}

describe('startPostgres', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres({ settings: { log_min_duration_statement: '0' }, maxConnections: 20 });
  });
  afterAll(() => server.stop());

  it('starts a server for loopback only, which waits for no disk and trusts who connects', async () => {
    const [row] = await query(
      server.url,
      `select current_user, current_setting('listen_addresses') as addresses, current_setting('port')::int as port,
         current_setting('unix_socket_directories') as sockets, current_setting('fsync') as fsync,
         current_setting('max_connections')::int as connections, current_setting('server_encoding') as encoding,
         current_setting('lc_collate') as collation, current_setting('server_version') as version`,
    );

    expect(row).toEqual({
      current_user: 'postgres',
      addresses: '127.0.0.1',
      port: server.port,
      sockets: '',
      fsync: 'off',
      connections: 20,
      encoding: 'UTF8',
      collation: 'C',
      version: expect.stringMatching(new RegExp(`^${server.version.replaceAll('.', '\\.')}( |$)`)),
    });
  });

  it('takes settings, keeps a log, and names the address of each database', async () => {
    await query(server.url, 'create database shop');

    expect(await query(server.urlOf('shop'), 'select current_database() as name')).toEqual([
      { name: 'shop' },
    ]);
    await until(() => server.logTail().includes('current_database()'), { what: 'the statement in the log' });
  });

  it("fails with the server's words when it can't start", async () => {
    await expect(startPostgres({ settings: { no_such_setting: '1' } })).rejects.toMatchObject({
      code: 'ERR_START_FAILED',
      message: expect.stringContaining('no_such_setting'),
    });
  });
});

describe('PostgresServer', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  it('keeps what was committed over a crash, on the same port', async () => {
    await query(server.url, 'create table note as select 42 as n');
    const { port } = server;

    await server.kill();
    expect(server.isRunning).toBe(false);
    await server.restart();

    expect(await query(server.url, 'select n from note')).toEqual([{ n: 42 }]);
    expect(server.port).toBe(port);
    expect(server.logTail(30)).toContain('automatic recovery in progress');
  });

  it('says that its port is taken when another has it', async () => {
    await server.kill();
    const thief = createServer((socket) => socket.destroy());
    await once(thief.listen(server.port, '127.0.0.1'), 'listening');
    try {
      await expect(server.restart()).rejects.toMatchObject({ code: 'ERR_START_FAILED', isPortTaken: true });
    } finally {
      await once(thief.close(), 'close');
    }
    await server.restart();
  });

  it('stops also while clients are connected, and leaves nothing', async () => {
    const client = new Client({ connectionString: server.url });
    const errors: string[] = [];
    client.on('error', ({ message }) => errors.push(message));
    await client.connect();

    await server.stop();
    await server.stop();

    await until(() => errors.length > 0, { what: 'the client to notice it' });
    expect(errors[0]).toMatch(/terminat/);
    expect([isGone(server.pid), existsSync(server.directory)]).toEqual([true, false]);
  });
});

describe('a process that is killed', () => {
  it('leaves no server and no directory behind, also when somebody is connected', async () => {
    const program = `
      import { startPostgres } from '${INDEX}';
      const { pid, directory, url } = await startPostgres();
      console.log(JSON.stringify({ pid, directory, url }));
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    const { pid, directory, url } = JSON.parse(line) as { pid: number; directory: string; url: string };
    const client = new Client({ connectionString: url });
    client.on('error', () => undefined);
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const backend = rows[0]!.pid;
    expect([pid, backend].map(isGone)).toEqual([false, false]);

    child.kill('SIGKILL');

    await until(() => isGone(pid) && isGone(backend) && !existsSync(directory), {
      what: 'server, its children and the directory to be gone',
    });
    expect(isGone(pid)).toBe(true);
  });
});
