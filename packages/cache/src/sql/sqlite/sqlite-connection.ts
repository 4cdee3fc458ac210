/**
 * One connection to a SQLite file, on which one statement runs at a time: libsql runs statements in threads of its own, and a
 * prepared statement that is begun twice gives the rows of neither. The event loop is free meanwhile, also while the file is locked.
 */
import Libsql from 'libsql/promise';
import { SqlClosedError, SqlTimeoutError } from '../../errors.js';

/** What is used of a statement of libsql or libsql/promise. */
export interface SqliteStatement {
  /** Whether it gives rows. */
  readonly reader: boolean;
  run(...parameters: unknown[]): unknown;
  raw(): unknown;
  safeIntegers(): unknown;
  all(...parameters: unknown[]): unknown;
  columns(): readonly { readonly name: string }[];
}

/** What is used of a `Database` of libsql or libsql/promise. */
export interface SqliteDatabase {
  // oxlint-disable-next-line typescript/no-explicit-any -- libsql/promise has no type for it
  prepare(sql: string): any;
  exec(sql: string): unknown;
}

interface OwnDatabase extends SqliteDatabase {
  interrupt(): void;
  close(): void;
}

/** An interrupt that comes before its statement has begun is lost; so it is sent again until that has ended. */
const INTERRUPT_EVERY_MS = 20;

export interface SqliteTarget {
  readonly path?: string | undefined;
  readonly database?: SqliteDatabase | undefined;
  readonly busyTimeoutMs: number;
}

export class SqliteConnection {
  readonly #table: string;
  readonly #target: SqliteTarget;
  readonly #statements = new Map<string, SqliteStatement>();
  #own: OwnDatabase | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  /** Opens nothing yet. @param table For errors. */
  constructor(table: string, target: SqliteTarget) {
    this.#table = table;
    this.#target = target;
  }

  /**
   * Runs `work` alone on the connection. Throws SqlTimeoutError when it takes too long, the reason of the signal, SqlClosedError, and
   * what the driver throws. After an error the connection, if it is ours, is opened anew by the next call.
   */
  run<Result>(
    work: (query: SqliteQueries) => Promise<Result>,
    limitMs: number,
    signal?: AbortSignal,
  ): Promise<Result> {
    const run = this.#last.then(() => this.#run(work, limitMs, signal));
    this.#last = run.catch(() => undefined);
    return run;
  }

  /** Resolves when the running statement has ended; those that wait are refused. Idempotent. A database that was given stays open. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last;
    this.#drop();
  }

  async #run<Result>(
    work: (query: SqliteQueries) => Promise<Result>,
    limitMs: number,
    signal?: AbortSignal,
  ): Promise<Result> {
    if (this.#isClosed) throw new SqlClosedError(this.#table);
    signal?.throwIfAborted();
    let isTooLate = false;
    let interrupts: NodeJS.Timeout | undefined;
    const interrupt = (): void => {
      clearTimeout(interrupts);
      this.#own?.interrupt();
      interrupts = setTimeout(interrupt, INTERRUPT_EVERY_MS);
    };
    const limit = setTimeout(() => {
      isTooLate = true;
      interrupt();
    }, limitMs);
    signal?.addEventListener('abort', interrupt, { once: true });
    try {
      const database = this.#target.database ?? (this.#own ??= await this.#open());
      const prepare = (sql: string): Promise<SqliteStatement> => this.#prepare(database, sql);
      return await work({
        prepare,
        all: async (sql, ...parameters) =>
          (await (await prepare(sql)).all(...parameters)) as readonly unknown[][],
        run: async (sql, ...parameters) => void (await (await prepare(sql)).run(...parameters)),
        transact: (sql) => transact(database, sql),
      });
    } catch (error) {
      this.#drop();
      if (isTooLate) throw new SqlTimeoutError(this.#table, limitMs, error);
      signal?.throwIfAborted();
      throw error;
    } finally {
      clearTimeout(limit);
      clearTimeout(interrupts);
      signal?.removeEventListener('abort', interrupt);
    }
  }

  async #open(): Promise<OwnDatabase> {
    const { path, busyTimeoutMs } = this.#target;
    const database = new Libsql(path as string, { timeout: busyTimeoutMs }) as OwnDatabase;
    // Readers and the one writer of a file don't wait for each other then. It stays with the file.
    await database.exec('pragma journal_mode = wal');
    // All that we write can be lost with the power: then a change is noticed twice.
    await database.exec('pragma synchronous = normal');
    return database;
  }

  async #prepare(database: SqliteDatabase, sql: string): Promise<SqliteStatement> {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = (await database.prepare(sql)) as SqliteStatement;
      if (statement.reader) {
        statement.raw();
        statement.safeIntegers();
      }
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  #drop(): void {
    this.#statements.clear();
    this.#own?.close();
    this.#own = undefined;
  }
}

/** What can be done while one has the connection. */
export interface SqliteQueries {
  /** Prepared once for each text; its rows are lists, its integers bigints. */
  prepare(sql: string): Promise<SqliteStatement>;
  all(sql: string, ...parameters: unknown[]): Promise<readonly unknown[][]>;
  /** As `all`, for a statement that gives no rows. */
  run(sql: string, ...parameters: unknown[]): Promise<void>;
  /** Any number of statements: all or none of them, while nobody else writes. */
  transact(sql: string): Promise<void>;
}

/** How SQLite says that somebody else has begun one on a connection that was given. */
const IS_NESTED = /within a transaction/;

async function transact(database: SqliteDatabase, sql: string): Promise<void> {
  try {
    // One call: the threads of libsql are few, and while others wait in all of them for our lock, a second one would wait for them.
    await database.exec(`begin immediate; ${sql} commit`);
  } catch (error) {
    if (!IS_NESTED.test(String(error))) await rollBack(database);
    throw error;
  }
}

async function rollBack(database: SqliteDatabase): Promise<void> {
  try {
    await database.exec('rollback');
  } catch {
    // It had not begun, or SQLite has done it itself, as when the disk is full.
  }
}
