import { existsSync, readFileSync } from 'node:fs';
import { chown, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import {
  directoryMade,
  directoryRemoved,
  freePort,
  releasePort,
  run,
  ServerProcess,
  StartFailedError,
  until,
} from '@mortise/server-process';

import { findPostgres, type PostgresInstallation } from './installation.js';

export interface PostgresOptions {
  /** The program to run. @defaultValue the one that `findPostgres()` finds */
  installation?: PostgresInstallation;
  /** Whether a commit waits for the disk: it does no good in tests, for nobody pulls the plug. @defaultValue false */
  fsync?: boolean;
  /** @defaultValue 100 */
  maxConnections?: number;
  /** Further settings, such as `{ log_statement: 'all' }`. */
  settings?: Record<string, string>;
}

const PORT_ATTEMPTS = 20;
const START_DEADLINE_MS = 30_000;
const LOG_FILE = 'postgres.log';
const DATA_DIRECTORY = 'data';
/** The superuser and the database that every server has. */
const NAME = 'postgres';

/** Starts a server and waits until it takes connections: about 1 s, most of it for initdb. */
export function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  return PostgresServer.launch(options);
}

/** A PostgreSQL that this process started. It doesn't outlive this process, and doesn't keep it alive either. */
export class PostgresServer {
  readonly host = '127.0.0.1';
  /** A temporary directory with the log and the data. */
  readonly directory: string;
  readonly version: string;
  readonly #installation: PostgresInstallation;
  readonly #settings: Record<string, string>;
  #port = 0;
  #process: ServerProcess | undefined;

  private constructor(
    installation: PostgresInstallation,
    directory: string,
    settings: Record<string, string>,
  ) {
    this.#installation = installation;
    this.version = installation.version;
    this.directory = directory;
    this.#settings = settings;
  }

  /** For this package: users call {@link startPostgres}. */
  static async launch({
    installation: given,
    fsync = false,
    maxConnections = 100,
    settings = {},
  }: PostgresOptions): Promise<PostgresServer> {
    const installation = given ?? (await findPostgres());
    const directory = await realpath(await mkdtemp(join(tmpdir(), 'mortise-postgres-')));
    directoryMade(directory);
    const server = new PostgresServer(installation, directory, {
      fsync: fsync ? 'on' : 'off',
      full_page_writes: fsync ? 'on' : 'off',
      max_connections: String(maxConnections),
      ...settings,
    });
    try {
      await server.#initialize();
      await server.#start();
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  }

  get port(): number {
    return this.#port;
  }

  /** The URL of the database that every server has. */
  get url(): string {
    return this.urlOf(NAME);
  }

  /** The URL of a database that the caller has created. Connections from this machine need no password. */
  urlOf(database: string): string {
    return `postgres://${NAME}@${this.host}:${this.#port}/${database}`;
  }

  /** The id of the process that runs or ran last. */
  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#process?.isRunning === true;
  }

  /** The last lines of the server's log. */
  logTail(lines = 20): string {
    const file = join(this.directory, LOG_FILE);
    if (!existsSync(file)) return '';
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
  }

  /** Ends the server, with all its connections, and removes its directory. Idempotent. */
  async stop(): Promise<void> {
    await this.#process?.end('SIGINT'); // the fast way: SIGTERM would wait for clients to leave
    releasePort(this.#port);
    await rm(this.directory, { recursive: true, force: true, maxRetries: 5 });
    directoryRemoved(this.directory);
  }

  /**
   * Ends the server as a crash does: nothing is written any more, and the next start recovers from the log of writes. Keeps the
   * directory for `restart()`. Idempotent.
   */
  async kill(): Promise<void> {
    // SIGKILL would leave its children behind for a moment, and with them the shared memory that bars the next start.
    await this.#process?.end('SIGQUIT');
  }

  /** Starts the server again, on the same port and with the same data; one that still runs is ended first. Not after `stop()`. */
  async restart(): Promise<void> {
    await this.#process?.end('SIGINT');
    await this.#startOnce();
  }

  async #initialize(): Promise<void> {
    const { initdb, env, user } = this.#installation;
    if (user !== undefined) await chown(this.directory, user.uid, user.gid);
    const args = ['--no-sync', '--no-locale', '--encoding=UTF8', '--auth=trust', `--username=${NAME}`];
    await run(initdb, [...args, '--pgdata', this.#data], {
      // The C locale everywhere: what initdb prints, and what it makes of this machine's, isn't for us to depend on.
      env: { ...process.env, ...env, LC_ALL: 'C' },
      cwd: this.directory,
      ...user,
    });
  }

  get #data(): string {
    return join(this.directory, DATA_DIRECTORY);
  }

  async #start(): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      this.#port = await freePort(false);
      try {
        await this.#startOnce();
        return;
      } catch (error) {
        releasePort(this.#port);
        const isPortTaken = error instanceof StartFailedError && error.isPortTaken;
        if (!isPortTaken || attempt === PORT_ATTEMPTS) throw error;
      }
    }
  }

  async #startOnce(): Promise<void> {
    const { postgres, env, user } = this.#installation;
    const settings = {
      listen_addresses: this.host,
      port: String(this.#port),
      unix_socket_directories: '',
      // Compiling takes longer than any query of a test, and libllvm isn't unpacked.
      jit: 'off',
      ...this.#settings,
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    this.#process = await ServerProcess.start({
      path: postgres,
      args: ['-D', this.#data, ...args],
      directory: this.directory,
      logFile: join(this.directory, LOG_FILE),
      env: { ...env, LC_ALL: 'C' },
      user,
      cwd: this.directory,
    });
    try {
      await this.#isReady(this.#process);
    } catch (error) {
      await this.kill();
      throw error;
    }
  }

  /** The server notes its state in a file: its pid in the first line, "ready" in the eighth. */
  async #isReady(process: ServerProcess): Promise<void> {
    const file = join(this.#data, 'postmaster.pid');
    const isReady = async (): Promise<boolean> => {
      if (!process.isRunning)
        throw new StartFailedError(`the server ended before it took connections:\n${this.logTail()}`);
      const lines = (await readFile(file, 'utf8')).split('\n');
      return Number(lines[0]) === process.pid && lines[7]?.trim() === 'ready';
    };
    const what = `PostgreSQL on port ${this.#port} to take connections`;
    await until(isReady, { what, deadlineMs: START_DEADLINE_MS, everyMs: 5, details: () => this.logTail() });
  }
}
