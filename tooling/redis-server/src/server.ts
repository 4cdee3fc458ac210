import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { freePort, releasePort, ServerProcess, StartFailedError, until } from '@mortise/server-process';

import type { RedisBinary } from './binary.js';
import type { Certificate } from './certificate.js';
import { request, type Reply, type RequestOptions } from './resp.js';
import { ServerDirectory } from './server-directory.js';

/** How a server is launched, and launched again by `restart()`. */
export interface LaunchOptions {
  binary: RedisBinary;
  /** Kept at stop. Without it, a temporary directory is made, and removed at stop. */
  directory?: string | undefined;
  /** Without it, a free port is taken. */
  port?: number | undefined;
  /** Whether the port 10000 above must be free too. */
  hasBus?: boolean;
  /** Clients and replicas must log in with it. */
  password?: string | undefined;
  /** Clients, replicas and the nodes of its cluster must use TLS. */
  certificate?: Certificate | undefined;
  /** How long it may take until it serves, ms. */
  startMs?: number | undefined;
  /** Arguments of the program, after those that every server gets. */
  args: string[];
  /** Runs before each start, when port and directory are known: writes configuration files. Returns arguments to put first. */
  prepare?: (server: { port: number; directory: string }) => Promise<string[]>;
  /** Runs after each start, when the server answers. */
  afterStart?: (server: RedisServer) => Promise<void>;
}

/** In the directory of the server. */
const LOG_FILE = 'redis.log';
const PORT_ATTEMPTS = 20;
const START_DEADLINE_MS = 30_000;

/** A Redis (or Sentinel) that this process started. It doesn't outlive this process, and doesn't keep it alive either. */
export class RedisServer {
  readonly host = '127.0.0.1';
  /** Absolute, without symbolic links. Holds the log, and the data if there is persistence. */
  readonly directory: string;
  readonly #options: LaunchOptions;
  readonly #directory: ServerDirectory;
  #port: number;
  #process: ServerProcess | undefined;
  #stopping: Promise<void> | undefined;

  private constructor(options: LaunchOptions, directory: ServerDirectory, port: number) {
    this.#options = options;
    this.#directory = directory;
    this.directory = directory.path;
    this.#port = port;
  }

  /** Starts a server and waits until it answers. For this package: users call `startSingle()` and the like. */
  static async launch(options: LaunchOptions): Promise<RedisServer> {
    const directory = await ServerDirectory.make(options.directory, options.password);
    const port = options.port ?? (await freePort(options.hasBus === true));
    const server = new RedisServer(options, directory, port);
    try {
      await server.#start(options.port === undefined);
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  }

  get port(): number {
    return this.#port;
  }

  get password(): string | undefined {
    return this.#options.password;
  }

  /** With the password, if it has one. */
  get url(): string {
    const { password } = this;
    const scheme = this.#options.certificate === undefined ? 'redis' : 'rediss';
    const login = password === undefined ? '' : `:${encodeURIComponent(password)}@`;
    return `${scheme}://${login}${this.host}:${this.#port}`;
  }

  /** The id of the process that runs or ran last. */
  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#process?.isRunning === true;
  }

  /** Whether the server runs and isn't paused. */
  get isAnswering(): boolean {
    return this.isRunning && this.#process?.isPaused === false;
  }

  /** The last lines of the server's log. */
  logTail(lines = 20): string {
    const log = readFileSync(join(this.directory, LOG_FILE), 'utf8');
    return log.trimEnd().split('\n').slice(-lines).join('\n');
  }

  /**
   * Sends one command, on a connection of its own (so nothing of MULTI, SELECT or SUBSCRIBE remains).
   * Throws `ReplyError` for an error reply, and an `Error` after 30 s without a reply.
   */
  command(...args: string[]): Promise<Reply> {
    return this.request(args);
  }

  /** For this package: `command` with further options. */
  request(args: string[], options: Omit<RequestOptions, 'password' | 'caFile'> = {}): Promise<Reply> {
    const { certificate } = this.#options;
    return request(this.#port, args, { ...options, password: this.password, caFile: certificate?.caFile });
  }

  /**
   * Ends the server with SIGTERM, or with SIGKILL when that hasn't worked after 2 s, and removes its directory if that is
   * temporary. Idempotent; legal after `kill()` and on a paused server.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop().finally(() => {
      this.#stopping = undefined;
    });
    return this.#stopping;
  }

  /** Ends the server with SIGKILL, waits until it is gone, and keeps the directory for `restart()`. Idempotent. */
  async kill(): Promise<void> {
    await this.#process?.end('SIGKILL');
  }

  /** SIGSTOP: connections stay open, new ones are even accepted by the kernel, but nothing is answered. */
  pause(): void {
    this.#process?.pause();
  }

  /** SIGCONT: undoes `pause()`; what was sent meanwhile is answered. */
  resume(): void {
    this.#process?.resume();
  }

  /**
   * Starts the server again, on the same port and in the same directory; one that still runs is ended with SIGTERM first.
   * After `kill()`, what was persisted is there again; after `stop()`, a temporary directory is made again, empty.
   */
  async restart(): Promise<void> {
    await this.#stopping;
    await this.#process?.end('SIGTERM');
    await this.#start(false);
  }

  async #stop(): Promise<void> {
    await this.#process?.end('SIGTERM');
    releasePort(this.#port);
    await this.#directory.discard();
  }

  async #start(mayChangePort: boolean): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#startOnce();
        return;
      } catch (error) {
        const isPortTaken = error instanceof StartFailedError && error.isPortTaken;
        if (!isPortTaken || !mayChangePort || attempt === PORT_ATTEMPTS) throw error;
        releasePort(this.#port);
        this.#port = await freePort(this.#options.hasBus === true);
      }
    }
  }

  async #startOnce(): Promise<void> {
    const { binary, args, password, certificate, prepare, afterStart } = this.#options;
    await this.#directory.prepare(this.#port);
    const first = (await prepare?.(this)) ?? [];
    const common = [certificate === undefined ? '--port' : '--tls-port', String(this.#port)];
    common.push('--bind', this.host, '--dir', this.directory, '--daemonize', 'no');
    if (certificate !== undefined) common.push(...tlsOnly(certificate));
    // The log goes to stdout, which is the file: so what the program says before it has read its configuration is in it too.
    // The title of the process stays as it is, because the reaper knows our servers by their arguments.
    common.push('--logfile', '', '--set-proc-title', 'no');
    if (password !== undefined) common.push('--requirepass', password, '--masterauth', password);
    this.#process = await ServerProcess.start({
      ...binary,
      args: [...first, ...common, ...args],
      directory: this.directory,
      logFile: join(this.directory, LOG_FILE),
    });
    try {
      await this.#answers(this.#process);
      await afterStart?.(this);
    } catch (error) {
      await this.kill();
      throw error;
    }
  }

  async #answers({ pid }: ServerProcess): Promise<void> {
    const { startMs = START_DEADLINE_MS } = this.#options;
    const answers = async (): Promise<boolean> => {
      if (!this.isRunning)
        throw new StartFailedError(`the server ended before it answered:\n${this.logTail()}`);
      // Another process that was faster may have its server on this port.
      const info = await this.request(['INFO', 'server'], { timeoutMs: 500 });
      if (!String(info).includes(`process_id:${pid}\r`)) return false;
      return (await this.request(['PING'], { timeoutMs: 500 })) === 'PONG';
    };
    const what = `the server on port ${this.#port} to answer`;
    await until(answers, { what, deadlineMs: startMs, everyMs: 5, details: () => this.logTail() });
  }
}

/** Arguments of a server without a port for plain connections. */
function tlsOnly({ caFile, keyFile }: Certificate): string[] {
  const files = ['--tls-cert-file', caFile, '--tls-key-file', keyFile, '--tls-ca-cert-file', caFile];
  const everywhere = ['--tls-cluster', 'yes', '--tls-replication', 'yes', '--tls-auth-clients', 'no'];
  return ['--port', '0', ...files, ...everywhere];
}
