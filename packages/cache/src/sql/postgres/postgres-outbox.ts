/**
 * The outbox of a PostgreSQL table.
 *
 * Entries become visible when their transactions commit, not in the order of their numbers: an entry may appear below one that
 * was read before. So nothing is skipped by number. A reader removes the entries that it has handled, and sees all others
 * each time. It only skips transactions that had all ended at an earlier read (`pg_snapshot_xmin`). They can add nothing,
 * but their removed entries may stay for hours while an old snapshot (a backup) blocks VACUUM.
 *
 * A notification takes a database-wide lock at commit, so there is one only for an idle reader. Before it sleeps, the reader
 * sets the sequence `_idle`. The first transaction to commit after that resets the sequence and notifies; those after it do
 * not. A transaction that read the sequence just before it was set may commit after the last read. So the reader takes a
 * transaction id after setting it, and reads again from time to time until all older transactions have ended.
 */
import { WakeUp } from '@mortise/redis';
import type { SqlSourceError } from '../../errors.js';
import { incompleteOutbox, noOutbox } from '../../outbox.js';
import type { Change, Outbox, OutboxReader } from '../../outbox.js';
import type { SourceTable } from '../source-options.js';
import { IDLE, outboxName, UNRECORDED_SQL } from './postgres-outbox-sql.js';
import type { PostgresClient, PostgresConnections, PostgresQuery } from './postgres-pool.js';
import { schemaOf, tableName } from './postgres-table.js';

const RECHECK_MS = 5_000;
/** Interval without notifications. */
const SILENT_RECHECK_MS = 100;
/** The shortest interval between two notifications, which take a database-wide lock. */
const MARK_EVERY_MS = 100;
/** The first pause while older transactions run; it doubles. */
const FIRST_PAUSE_MS = 20;

export function postgresOutbox(
  connections: PostgresConnections,
  schema: string | undefined,
  options: SourceTable,
  notifies: boolean,
): Outbox {
  const { table } = options;
  return {
    recheckMs: notifies ? RECHECK_MS : SILENT_RECHECK_MS,
    requireRoom: () => connections.requireRoomForReader(),
    // A reader uses one connection for everything: slow loads may occupy all others.
    open: async (signal) => {
      const name = outboxName(options);
      const client = await connections.connectReader(signal);
      const reader = new PostgresOutboxReader(connections, client, { table, name }, notifies);
      try {
        if (!(await reader.listen(schema, signal))) throw noOutbox(table, name);
        return reader;
      } catch (error) {
        await reader.close();
        throw error;
      }
    },
  };
}

class PostgresOutboxReader implements OutboxReader {
  readonly #connections: PostgresConnections;
  readonly #client: PostgresClient;
  readonly #table: string;
  readonly #name: string;
  /** Names as SQL identifiers. */
  #from = '';
  #outbox = '';
  #idle = '';
  #channel = '';
  readonly #notifies: boolean;
  /** All earlier transactions have ended, and their entries were read. */
  #floor = '0';
  /** The oldest transaction running at the last read. */
  #oldest = 0n;
  /** The next transaction id at the time `_idle` was set; undefined: it is not set. */
  #idleSince: bigint | undefined;
  #markAgainAt = 0;
  #pauseMs = FIRST_PAUSE_MS;
  #failure: Error | undefined;
  /** After a notification. Closed when the connection is lost. */
  readonly #wakeUp = new WakeUp();

  /** @param notifies Whether writers send notifications. */
  constructor(
    connections: PostgresConnections,
    client: PostgresClient,
    { table, name }: { readonly table: string; readonly name: string },
    notifies: boolean,
  ) {
    this.#connections = connections;
    this.#client = client;
    this.#notifies = notifies;
    this.#table = table;
    this.#name = name;
    client.on('notification', this.#onNotification);
    client.on('error', this.#onError);
    client.on('end', this.#onEnd);
  }

  /** Returns false without an outbox. */
  async listen(schemaOption: string | undefined, signal: AbortSignal): Promise<boolean> {
    const asking = {
      query: (query: PostgresQuery) => this.#connections.queryOn(this.#client, query, signal),
    };
    const schema = await schemaOf(asking, schemaOption, this.#table);
    this.#from = tableName(schema, this.#table);
    this.#outbox = tableName(schema, this.#name);
    this.#idle = tableName(schema, `${this.#name}_idle`);
    const [[oid, idle] = []] = await this.#query(
      'select to_regclass($1)::oid::text, to_regclass($2)::oid::text',
      [this.#outbox, this.#idle],
    );
    if (typeof oid !== 'string' || typeof idle !== 'string') return false;
    this.#channel = `mortise_${oid}`;
    if (this.#notifies) await this.#query(`listen ${this.#channel}`, []);
    return true;
  }

  async read(limit: number, except: readonly Change[]): Promise<readonly Change[]> {
    const entries = await this.#query(
      `select pg_snapshot_xmin(now.snapshot)::text, (select last_value from ${this.#idle})::text, entry.tx, entry.seq, entry.id
       from (select pg_current_snapshot() as snapshot) as now left join lateral (
         select tx::text, seq::text, id from ${this.#outbox} as outbox
         where outbox.tx >= $1::xid8 and outbox.seq <> all ($3::bigint[])
         order by outbox.tx, outbox.seq limit $2
       ) as entry on true`,
      [this.#floor, limit, except.map(({ key }) => key[1])],
    );
    const [oldest, state] = entries[0] as [string, string];
    // A transaction has notified, possibly one that was rolled back.
    if (state !== String(IDLE)) this.#idleSince = undefined;
    this.#oldest = BigInt(oldest);
    const changes = entries
      .filter(([, , , seq]) => seq !== null)
      .map(([, , tx, seq, id]) => ({ id: id as string, key: [tx as string, seq as string] }));
    const last = changes.at(-1);
    this.#floor = oldest;
    // There are more entries, some of them older than the running transactions.
    if (last && changes.length === limit && BigInt(last.key[0]!) < this.#oldest) this.#floor = last.key[0]!;
    return changes;
  }

  async gap(): Promise<SqlSourceError | undefined> {
    const tables = await this.#query(UNRECORDED_SQL, [this.#from, this.#name]);
    if (tables.length === 0) return undefined;
    return incompleteOutbox(
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
    let waitMs = atMostMs;
    if (this.#notifies && this.#idleSince === undefined) {
      waitMs = Math.min(this.#markAgainAt - performance.now(), atMostMs);
      if (waitMs <= 0) return this.#markIdle();
    } else if (this.#notifies && this.#oldest < this.#idleSince!) {
      waitMs = Math.min(this.#pauseMs, atMostMs);
      this.#pauseMs *= 2;
    }
    await this.#wakeUp.wait(waitMs, signal);
  }

  async close(): Promise<void> {
    this.#client.off('notification', this.#onNotification);
    this.#client.off('error', this.#onError);
    this.#client.off('end', this.#onEnd);
    // The connection listens, which its pool does not expect.
    this.#client.on('error', () => undefined);
    this.#client.release(true);
  }

  async #markIdle(): Promise<void> {
    this.#wakeUp.reset();
    await this.#query('select setval($1::regclass, $2)', [this.#idle, IDLE]);
    // A separate statement, so that its transaction begins after the sequence was set.
    const [[next] = []] = await this.#query('select pg_current_xact_id()::text', []);
    this.#idleSince = BigInt(next as string);
    this.#markAgainAt = performance.now() + MARK_EVERY_MS;
    this.#pauseMs = FIRST_PAUSE_MS;
  }

  async #query(text: string, values: readonly unknown[]): Promise<readonly (readonly unknown[])[]> {
    if (this.#failure) throw this.#failure;
    const { rows } = await this.#connections.queryOn(this.#client, { text, values });
    return rows;
  }

  readonly #onNotification = ({ channel }: { channel: string }): void => {
    if (channel !== this.#channel) return;
    this.#idleSince = undefined;
    this.#wakeUp.wake();
  };

  readonly #onError = (error: Error): void => {
    this.#failure ??= error;
    this.#wakeUp.close(error);
  };

  readonly #onEnd = (): void => this.#onError(new Error('the connection to PostgreSQL has ended'));
}
