/**
 * One connection to a SQLite file, running one statement at a time. libsql uses its own threads, and a prepared statement
 * that is started twice returns no correct rows. The event loop stays free, even while the file is locked.
 */
import Libsql from 'libsql/promise';
import { SqlSourceError } from '../../errors.js';

/** The part of a statement of libsql or libsql/promise that is used. */
export interface SqliteStatement {
  /** Whether it returns rows. */
  readonly reader: boolean;
  run(...parameters: unknown[]): unknown;
  raw(): unknown;
  safeIntegers(): unknown;
  all(...parameters: unknown[]): unknown;
  columns(): readonly { readonly name: string }[];
}

/** The part of `Database` of libsql or libsql/promise that is used. */
export interface SqliteDatabase {
  // oxlint-disable-next-line typescript/no-explicit-any -- libsql/promise has no type for it
  prepare(sql: string): any;
  exec(sql: string): unknown;
}

interface OwnDatabase extends SqliteDatabase {
  interrupt(): void;
  close(): void;
}

/** An interrupt before the start of its statement is lost, so it is repeated until the statement has ended. */
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

  /** Opens nothing. @param table Used in errors. */
  constructor(table: string, target: SqliteTarget) {
    this.#table = table;
    this.#target = target;
  }

  /**
   * Runs `work` alone on the connection. Throws SqlSourceError after `limitMs`, the reason of the signal, SqlSourceError, and
   * errors of the driver. After an error the next call reopens the connection if it is our own.
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

  /** Resolves when the running statement has ended; waiting ones are refused. Idempotent. A given database stays open. */
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
    if (this.#isClosed) throw new SqlSourceError('ERR_SQL_CLOSED', this.#table, 'its source was closed');
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
      if (isTooLate)
        throw new SqlSourceError('ERR_SQL_TIMEOUT', this.#table, `a query took longer than ${limitMs} ms`, {
          cause: error,
        });
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
    // WAL lets readers and the one writer of a file run side by side. The mode stays with the file.
    await database.exec('pragma journal_mode = wal');
    // A power failure may lose the last writes, after which a change is processed twice.
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

/** The calls available during `SqliteConnection.run`. */
export interface SqliteQueries {
  /** Prepared once for each text; rows are arrays, integers bigints. */
  prepare(sql: string): Promise<SqliteStatement>;
  all(sql: string, ...parameters: unknown[]): Promise<readonly unknown[][]>;
  /** `all` for a statement without rows. */
  run(sql: string, ...parameters: unknown[]): Promise<void>;
  /** Runs all statements or none, while no other connection writes. */
  transact(sql: string): Promise<void>;
}

/** The error of SQLite when a transaction is already open on a given connection. */
const IS_NESTED = /within a transaction/;

async function transact(database: SqliteDatabase, sql: string): Promise<void> {
  try {
    // One call: libsql has few threads, which may all wait for our lock, so a second call would wait for them.
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
    // No transaction had begun, or SQLite rolled it back itself, for example with a full disk.
  }
}
