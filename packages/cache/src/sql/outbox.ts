/**
 * What a change feed needs of a database, kept off the public face of the sources.
 *
 * An outbox is a table into which triggers write the id of each row that changes, in the transaction that changes it. What
 * stands in it has not been read yet: a reader removes what it has dealt with, so nothing has to be remembered of how far it came.
 */
import { ArgumentTypeError } from '@mortise/redis';
import type { SqlOutboxError } from '../errors.js';

/** One line of an outbox. */
export interface Change {
  /** Of the row that has changed. */
  readonly id: string;
  /** The place of the line in the outbox. */
  readonly key: readonly string[];
}

/** One reader of an outbox, with what it has learned since it began. Calls come one after the other. */
export interface OutboxReader {
  /** Up to `limit` changes, but those of `except`. Also those that have become visible late, whatever was read before. */
  read(limit: number, except: readonly Change[]): Promise<readonly Change[]>;
  remove(changes: readonly Change[]): Promise<void>;
  /** Tells which changes are not written here, if there are such; absent where all are. */
  gap?(): Promise<SqlOutboxError | undefined>;
  /** After a `read` that found nothing: resolves when it makes sense to read again, or after `atMostMs`. */
  wait(atMostMs: number, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export interface Outbox {
  /** The longest time until the outbox is read again, in ms, unless somebody says otherwise. */
  readonly recheckMs: number;
  /** Throws RangeError where a reader would take the last connection from the loads. */
  requireRoom?(): void;
  /** Throws SqlOutboxError when there is none. */
  open(signal: AbortSignal): Promise<OutboxReader>;
}

/** How an outbox is made and removed, as SQL: for a migration, or for a look at what `installOutbox` does. */
export interface OutboxSql {
  /** May be run again. */
  readonly install: string;
  /** May be run where there is none. */
  readonly remove: string;
}

/** A source with an outbox: `SqliteSource` or `PostgresSource`. */
export interface ChangeSource {
  readonly load: (ids: readonly string[], signal?: AbortSignal) => Promise<Map<string, object>>;
  installOutbox(): Promise<void>;
}

const outboxes = new WeakMap<object, Outbox>();

export function setOutbox(source: object, outbox: Outbox): void {
  outboxes.set(source, outbox);
}

/** Throws TypeError for something else than a source. */
export function outboxOf(source: object): Outbox {
  const outbox = outboxes.get(source);
  if (!outbox) throw new ArgumentTypeError('source must be a SqliteSource or a PostgresSource');
  return outbox;
}
