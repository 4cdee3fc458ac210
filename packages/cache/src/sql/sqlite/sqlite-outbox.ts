/**
 * The outbox of a SQLite table. SQLite has one writer at a time, so entries appear in the order of their numbers. A process
 * cannot notify another, so the reader polls at short intervals. That costs no more than `pragma data_version`, which would
 * only tell whether to read.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { requireOptions } from '@mortise/redis';
import { SqlSourceError } from '../../errors.js';
import { quote, requireIdentifier } from '../identifier.js';
import { noOutbox } from '../../outbox.js';
import type { Change, Outbox, OutboxReader, OutboxSql } from '../../outbox.js';
import type { SqliteConnection, SqliteQueries } from './sqlite-connection.js';

export interface SqliteOutboxOptions {
  /** The name of the table. */
  readonly table: string;
  /** The unique column whose text is the row id. Default `id`. */
  readonly id?: string | undefined;
  /** The name of the outbox. Default: the table name followed by `_mortise_outbox`. */
  readonly outbox?: string | undefined;
}

/** Limit of a name. SQLite has none of its own. */
export const MAX_NAME_BYTES = 1_024;
const OPTIONS: ReadonlySet<string> = new Set<keyof SqliteOutboxOptions>(['table', 'id', 'outbox']);
const RECHECK_MS = 50;

export function outboxName({ table, outbox }: { table: string; outbox?: string | undefined }): string {
  return outbox ?? `${table}_mortise_outbox`;
}

/**
 * The SQL of an outbox and its triggers. Inserted, updated and deleted rows are recorded. Rows that `replace` removes because of
 * another column are recorded only with `recursive_triggers` on. Throws SqlSourceError (ERR_SQL_IDENTIFIER).
 */
export function sqliteOutboxSql(options: SqliteOutboxOptions): OutboxSql {
  requireOptions('sqliteOutboxSql', options, OPTIONS);
  const table = quote(requireIdentifier('table', options.table, MAX_NAME_BYTES));
  const id = quote(requireIdentifier('id', options.id ?? 'id', MAX_NAME_BYTES));
  const name = requireIdentifier('outbox', outboxName(options), MAX_NAME_BYTES);
  const outbox = quote(name);
  const trigger = (event: string): string => quote(`${name}_${event}`);
  const note = (row: string, condition = ''): string =>
    `insert into ${outbox} (id) select ${row}.${id} where ${row}.${id} is not null${condition};`;
  return {
    install: `create table if not exists ${outbox} (seq integer primary key autoincrement, id text not null);
create trigger if not exists ${trigger('insert')} after insert on ${table} begin
  ${note('new')}
end;
create trigger if not exists ${trigger('update')} after update on ${table} begin
  ${note('new')}
  ${note('old', ` and old.${id} is not new.${id}`)}
end;
create trigger if not exists ${trigger('delete')} after delete on ${table} begin
  ${note('old')}
end;
`,
    remove: `drop trigger if exists ${trigger('insert')};
drop trigger if exists ${trigger('update')};
drop trigger if exists ${trigger('delete')};
drop table if exists ${outbox};
`,
  };
}

/** Throws SqlSourceError for a relation without triggers, and if another table has the name of the outbox. */
export async function requireOutboxTable(
  queries: SqliteQueries,
  table: string,
  outbox: string,
): Promise<void> {
  const kinds = await queries.all('select type from pragma_table_list(?)', table);
  if (!kinds.some(([kind]) => kind === 'table'))
    throw new SqlSourceError(
      'ERR_SQL_SCHEMA',
      table,
      'is not a table of the file, so triggers cannot record its changes',
    );
  const columns = await queries.all('select name from pragma_table_xinfo(?)', outbox);
  const names = columns.map(([name]) => name).join(' ');
  if (names !== '' && names !== 'seq id')
    throw new SqlSourceError('ERR_SQL_SCHEMA', outbox, 'exists and is not an outbox');
}

/** @param connect Opens a connection for one reader, which closes it. */
export function sqliteOutbox(
  options: { readonly table: string; readonly outbox?: string | undefined },
  connect: () => SqliteConnection,
  queryTimeoutMs: number,
): Outbox {
  const name = outboxName(options);
  return {
    recheckMs: RECHECK_MS,
    open: async () => {
      const reader = new SqliteOutboxReader(connect(), name, queryTimeoutMs);
      if (await reader.exists()) return reader;
      await reader.close();
      throw noOutbox(options.table, name);
    },
  };
}

class SqliteOutboxReader implements OutboxReader {
  readonly #connection: SqliteConnection;
  readonly #name: string;
  readonly #queryTimeoutMs: number;

  constructor(connection: SqliteConnection, name: string, queryTimeoutMs: number) {
    this.#connection = connection;
    this.#name = name;
    this.#queryTimeoutMs = queryTimeoutMs;
  }

  async exists(): Promise<boolean> {
    const found = await this.#run((queries) =>
      queries.all('select 1 from sqlite_schema where name = ?', this.#name),
    );
    return found.length > 0;
  }

  async read(limit: number, except: readonly Change[]): Promise<readonly Change[]> {
    const among = 'where seq not in (select value from json_each(?))';
    const lines = await this.#run((queries) =>
      queries.all(
        `select cast(seq as text), id from ${quote(this.#name)} ${among} order by seq limit ?`,
        numbersOf(except),
        limit,
      ),
    );
    return lines.map(([seq, id]) => ({ id: id as string, key: [seq as string] }));
  }

  async remove(changes: readonly Change[]): Promise<void> {
    const among = 'where seq in (select value from json_each(?))';
    await this.#run((queries) =>
      queries.run(`delete from ${quote(this.#name)} ${among}`, numbersOf(changes)),
    );
  }

  async wait(atMostMs: number, signal: AbortSignal): Promise<void> {
    await pause(atMostMs, undefined, { signal });
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  #run<Result>(work: (queries: SqliteQueries) => Promise<Result>): Promise<Result> {
    return this.#connection.run(work, this.#queryTimeoutMs);
  }
}

/** As text, since numbers in JavaScript are exact only up to 2^53. */
function numbersOf(changes: readonly Change[]): string {
  return `[${changes.map(({ key }) => key[0]).join(',')}]`;
}
