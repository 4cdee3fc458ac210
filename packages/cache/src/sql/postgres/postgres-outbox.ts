/**
 * The outbox of a PostgreSQL table.
 *
 * Lines become visible when their transactions commit, not in the order of their numbers: one with a lower number may come after one
 * that has been read. So nothing is ever skipped by number. A reader removes the lines that it has dealt with, and sees all others
 * each time. It only passes over transactions that had all ended at an earlier read (`pg_snapshot_xmin`): of these nothing can come any more, but their removed
 * lines may lie there for hours, while an old snapshot (a backup) keeps VACUUM away.
 *
 * A notification takes a lock of the whole database at commit, so there is one only where a reader is asleep. Before it sleeps, it sets the bell, a
 * sequence; the first transaction that commits after that finds it set, rings (it sets it back and notifies), and those behind it
 * don't. A transaction that looked at the bell just before it was set may commit after the last read: the reader takes a transaction id after
 * setting the bell, and until all older transactions have ended it reads again from time to time.
 */
import { onAbort } from '@mortise/redis';
import { SqlOutboxError } from '../../errors.js';
import type { Change, Outbox, OutboxReader } from '../outbox.js';
import type { SourceTable } from '../source-options.js';
import { LISTENING, outboxName, UNNOTED_SQL } from './postgres-outbox-sql.js';
import type { PostgresClient, PostgresConnections, PostgresQuery } from './postgres-pool.js';
import { schemaOf, tableName } from './postgres-table.js';

const RECHECK_MS = 5_000;
/** Where nobody notifies. */
const SILENT_RECHECK_MS = 100;
/** The bell is set that often at most: so often, at most, is the lock of notifications taken. */
const SET_EVERY_MS = 100;
/** The first pause while older transactions have not ended; it doubles. */
const UNSETTLED_MS = 20;

export class PostgresOutbox implements Outbox {
  readonly recheckMs: number;
  readonly #connections: PostgresConnections;
  readonly #schema: string | undefined;
  readonly #options: SourceTable;
  readonly #notifies: boolean;

  constructor(
    connections: PostgresConnections,
    schema: string | undefined,
    options: SourceTable,
    notifies: boolean,
  ) {
    this.#connections = connections;
    this.#schema = schema;
    this.#options = options;
    this.#notifies = notifies;
    this.recheckMs = notifies ? RECHECK_MS : SILENT_RECHECK_MS;
  }

  requireRoom(): void {
    this.#connections.requireRoomForReader();
  }

  /** Takes a connection for the reader alone, and asks nothing on another one: loads that hang may have them all. */
  async open(signal: AbortSignal): Promise<OutboxReader> {
    const { table } = this.#options;
    const name = outboxName(this.#options);
    const client = await this.#connections.connectReader(signal);
    const reader = new PostgresOutboxReader(this.#connections, client, { table, name }, this.#notifies);
    try {
      if (!(await reader.listen(this.#schema, signal))) throw new SqlOutboxError(table, name);
      return reader;
    } catch (error) {
      await reader.close();
      throw error;
    }
  }
}

class PostgresOutboxReader implements OutboxReader {
  readonly #connections: PostgresConnections;
  readonly #client: PostgresClient;
  readonly #table: string;
  readonly #name: string;
  /** As they stand in SQL. */
  #from = '';
  #outbox = '';
  #bell = '';
  #channel = '';
  readonly #hasBell: boolean;
  /** Transactions before it have ended, and their lines have been read. */
  #floor = '0';
  /** The oldest transaction that had not ended at the last read. */
  #oldest = 0n;
  /** The transaction that was the next one when the bell was set; undefined: it isn't. */
  #setAt: bigint | undefined;
  #setAgainAt = 0;
  #unsettledMs = UNSETTLED_MS;
  #isRung = false;
  #failure: Error | undefined;
  #wake: (() => void) | undefined;

  /** @param hasBell Whether somebody rings it. */
  constructor(
    connections: PostgresConnections,
    client: PostgresClient,
    { table, name }: { readonly table: string; readonly name: string },
    hasBell: boolean,
  ) {
    this.#connections = connections;
    this.#client = client;
    this.#hasBell = hasBell;
    this.#table = table;
    this.#name = name;
    client.on('notification', this.#onNotification);
    client.on('error', this.#onError);
    client.on('end', this.#onEnd);
  }

  /** Returns false when there is no outbox. */
  async listen(schemaOption: string | undefined, signal: AbortSignal): Promise<boolean> {
    const asking = {
      query: (query: PostgresQuery) => this.#connections.queryOn(this.#client, query, signal),
    };
    const schema = await schemaOf(asking, schemaOption, this.#table);
    this.#from = tableName(schema, this.#table);
    this.#outbox = tableName(schema, this.#name);
    this.#bell = tableName(schema, `${this.#name}_bell`);
    const [[oid, bell] = []] = await this.#query(
      'select to_regclass($1)::oid::text, to_regclass($2)::oid::text',
      [this.#outbox, this.#bell],
    );
    if (typeof oid !== 'string' || typeof bell !== 'string') return false;
    this.#channel = `mortise_${oid}`;
    if (this.#hasBell) await this.#query(`listen ${this.#channel}`, []);
    return true;
  }

  async read(limit: number, except: readonly Change[]): Promise<readonly Change[]> {
    const lines = await this.#query(
      `select pg_snapshot_xmin(now.snapshot)::text, (select last_value from ${this.#bell})::text, line.tx, line.seq, line.id
       from (select pg_current_snapshot() as snapshot) as now left join lateral (
         select tx::text, seq::text, id from ${this.#outbox} as outbox
         where outbox.tx >= $1::xid8 and outbox.seq <> all ($3::bigint[])
         order by outbox.tx, outbox.seq limit $2
       ) as line on true`,
      [this.#floor, limit, except.map(({ key }) => key[1])],
    );
    const [oldest, bell] = lines[0] as [string, string];
    // Another transaction has rung, or one that has rung was rolled back.
    if (bell !== String(LISTENING)) this.#setAt = undefined;
    this.#oldest = BigInt(oldest);
    const changes = lines
      .filter(([, , , seq]) => seq !== null)
      .map(([, , tx, seq, id]) => ({ id: id as string, key: [tx as string, seq as string] }));
    const last = changes.at(-1);
    this.#floor = oldest;
    // There are more lines, and below them those of transactions that have not ended.
    if (last && changes.length === limit && BigInt(last.key[0]!) < this.#oldest) this.#floor = last.key[0]!;
    return changes;
  }

  async gap(): Promise<SqlOutboxError | undefined> {
    const tables = await this.#query(UNNOTED_SQL, [this.#from, this.#name]);
    if (tables.length === 0) return undefined;
    return new SqlOutboxError(
      this.#table,
      this.#name,
      tables.map(([name]) => name as string),
    );
  }

  async remove(changes: readonly Change[]): Promise<void> {
    await this.#query(
      `delete from ${this.#outbox} as outbox using unnest($1::xid8[], $2::bigint[]) as gone (tx, seq)
       where outbox.tx = gone.tx and outbox.seq = gone.seq`,
      [changes.map(({ key }) => key[0]), changes.map(({ key }) => key[1])],
    );
  }

  async wait(atMostMs: number, signal: AbortSignal): Promise<void> {
    if (this.#failure) throw this.#failure;
    if (this.#isRung) {
      this.#isRung = false;
      return;
    }
    if (!this.#hasBell) return this.#sleep(atMostMs, signal);
    if (this.#setAt === undefined) {
      const pauseMs = this.#setAgainAt - performance.now();
      if (pauseMs > 0) return this.#sleep(Math.min(pauseMs, atMostMs), signal);
      await this.#set();
      return;
    }
    const isSettled = this.#oldest >= this.#setAt;
    await this.#sleep(isSettled ? atMostMs : Math.min(this.#unsettledMs, atMostMs), signal);
    this.#unsettledMs *= 2;
  }

  async close(): Promise<void> {
    this.#client.off('notification', this.#onNotification);
    this.#client.off('error', this.#onError);
    this.#client.off('end', this.#onEnd);
    // It listens, and where it came from nobody expects that.
    this.#client.on('error', () => undefined);
    this.#client.release(true);
  }

  async #set(): Promise<void> {
    this.#isRung = false;
    await this.#query('select setval($1::regclass, $2)', [this.#bell, LISTENING]);
    // Another statement, so that its transaction begins after the bell was set.
    const [[next] = []] = await this.#query('select pg_current_xact_id()::text', []);
    this.#setAt = BigInt(next as string);
    this.#setAgainAt = performance.now() + SET_EVERY_MS;
    this.#unsettledMs = UNSETTLED_MS;
  }

  async #query(text: string, values: readonly unknown[]): Promise<readonly (readonly unknown[])[]> {
    if (this.#failure) throw this.#failure;
    const { rows } = await this.#connections.queryOn(this.#client, { text, values });
    return rows;
  }

  /** Ends early when it rings or the connection is lost. */
  #sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#isRung || this.#failure || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        unlisten();
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(end, ms);
      const unlisten = onAbort(signal, end);
      this.#wake = end;
    });
  }

  readonly #onNotification = ({ channel }: { channel: string }): void => {
    if (channel !== this.#channel) return;
    this.#setAt = undefined;
    this.#isRung = true;
    this.#wake?.();
  };

  readonly #onError = (error: Error): void => {
    this.#failure ??= error;
    this.#wake?.();
  };

  readonly #onEnd = (): void => this.#onError(new Error('the connection to PostgreSQL has ended'));
}
