/**
 * The interface between a change feed and a database, hidden from the public types of the sources.
 *
 * An outbox is a table: triggers insert the id of each changed row, in the transaction of the change. Readers remove
 * what they have handled, so the outbox contains exactly the unread changes and no reader has a position.
 */
import { ArgumentTypeError } from '@mortise/redis';
import { SqlSourceError } from './errors.js';

/** One entry of an outbox. */
export interface Change {
  /** The id of the changed row. */
  readonly id: string;
  /** The primary key of the entry. */
  readonly key: readonly string[];
}

/** A reader of an outbox. Calls come one after another. */
export interface OutboxReader {
  /** Returns up to `limit` changes except `except`, including those that became visible late. */
  read(limit: number, except: readonly Change[]): Promise<readonly Change[]>;
  remove(changes: readonly Change[]): Promise<void>;
  /** Returns the error for tables whose changes are not recorded, if any; absent where all are. */
  gap?(): Promise<SqlSourceError | undefined>;
  /** Called after a `read` without result: resolves when another read makes sense, or after `atMostMs`. */
  wait(atMostMs: number, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export interface Outbox {
  /** The default interval between two reads, in ms. */
  readonly recheckMs: number;
  /** Throws RangeError if a reader would take the last connection from the loads. */
  requireRoom?(): void;
  /** Throws SqlSourceError when there is none. */
  open(signal: AbortSignal): Promise<OutboxReader>;
}

/** The SQL to install and remove an outbox, for a migration or for review. */
export interface OutboxSql {
  /** The SQL that installs the outbox. It may be run repeatedly. */
  readonly install: string;
  /** The SQL that removes the outbox. It may also be run without an outbox. */
  readonly remove: string;
}

/** A source with an outbox: `SqliteSource` or `PostgresSource`. */
export interface ChangeSource {
  readonly load: (ids: readonly string[], signal?: AbortSignal) => Promise<Map<string, object>>;
  installOutbox(): Promise<void>;
}

/** The error of a feed without an outbox. */
export function noOutbox(table: string, outbox: string): SqlSourceError {
  const problem = `it has no outbox ${JSON.stringify(outbox)}, install it with installOutbox()`;
  return new SqlSourceError('ERR_SQL_OUTBOX', table, problem);
}

/** The error of a feed whose outbox misses changes of other tables. */
export function incompleteOutbox(table: string, outbox: string, missed: readonly string[]): SqlSourceError {
  const problem = `outbox ${JSON.stringify(outbox)} misses changes of ${missed.join(', ')}, run installOutbox() again`;
  return new SqlSourceError('ERR_SQL_OUTBOX', table, problem, { missed });
}

/** On the source itself, since the entry of a source and `/rows` have a copy of this module each. */
const OUTBOX = Symbol.for('@mortise/cache:outbox');

export function setOutbox(source: object, outbox: Outbox): void {
  Object.defineProperty(source, OUTBOX, { value: outbox });
}

/** Throws TypeError for a value that is not a source. */
export function outboxOf(source: object): Outbox {
  const outbox = (source as { readonly [OUTBOX]?: Outbox } | undefined)?.[OUTBOX];
  if (!outbox) throw new ArgumentTypeError('source must be a SqliteSource or a PostgresSource');
  return outbox;
}
