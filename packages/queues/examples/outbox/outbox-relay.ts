/**
 * Moves tasks from the outbox of a PostgreSQL database to a queue.
 *
 * One step is one transaction: lock a lane that no other relay moves, read its oldest tasks, enqueue them, delete them, commit. If
 * the relay dies in between, the lock is gone and the rows are still there. The next relay enqueues them again, under the same
 * ids. So a task reaches Redis at least once, and is stored once.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { EnqueueOptions, Queue } from '@mortise/queues';
import { Client } from 'pg';
import type { ClientConfig, DatabaseError } from 'pg';

export interface OutboxRelayOptions {
  /** An idle relay looks again after this, with or without a notification, ms. Default 1,000. */
  readonly recheckMs?: number;
  /**
   * PostgreSQL takes the lane from a relay that has been silent for this time, ms: one that is frozen, cut off, or waits for Redis.
   * Default 10,000.
   */
  readonly silenceMs?: number;
  /** Gets errors of failed steps, which are repeated, and of refused tasks, whose rows stay. Default: written to stderr. */
  readonly onError?: (error: unknown) => void;
}

interface Row {
  readonly id: string;
  readonly name: string;
  readonly payload: unknown;
  readonly options: EnqueueOptions;
  readonly bytes: number;
}

/** No more than Queue sends in one script call: all are stored or none, so a group cannot lose its order half-way. */
const MAX_BATCH = 64;
const MAX_BATCH_BYTES = 2 * 1024 * 1024;
/** For this time the queue knows the id of a task, even when the task has ended and is gone. */
const DEDUP_MS = 3_600_000;
/** The task is wrong: another try would fail as well. */
const REFUSALS = new Set(['ERR_INVALID_PAYLOAD', 'ERR_PAYLOAD_TOO_LARGE', 'ERR_TASK_CONFLICT']);
const MAX_BACKOFF_MS = 5_000;

/** The lane with the oldest task, of those that no other relay has. */
const LOCK_LANE = `
  select outbox_lanes.lane from outbox_lanes
  cross join lateral (
    select seq from outbox where outbox.lane = outbox_lanes.lane and refused is null order by seq limit 1
  ) oldest
  order by oldest.seq limit 1
  for update of outbox_lanes skip locked`;
const READ = `
  select id, name, payload, options, octet_length(payload::text || options::text) as bytes
  from outbox where lane = $1 and refused is null order by seq limit ${MAX_BATCH}`;
const DELETE = 'delete from outbox where id = any($1)';
/** From now on, every commit notifies the relays. Waits for the end of transactions that don't. See outbox.sql. */
const ANNOUNCE = `select pg_advisory_lock('outbox'::regclass::oid::int, 0)`;
const RETRACT = `select pg_advisory_unlock('outbox'::regclass::oid::int, 0)`;
const LOCK_TIMEOUT = '55P03';
const REFUSE = 'update outbox set refused = $2 where id = $1';

export class OutboxRelay {
  readonly #database: ClientConfig;
  readonly #queue: Pick<Queue, 'enqueueMany'>;
  readonly #recheckMs: number;
  readonly #silenceMs: number;
  readonly #onError: (error: unknown) => void;
  #stopping = new AbortController();
  #running: Promise<void> | undefined;
  /** Whether a notification came since the last look. */
  #isWoken = false;
  #endWait: () => void = () => undefined;

  /** The database has the tables of outbox.sql. The relay keeps one connection to it, on which it listens, too. */
  constructor(
    database: ClientConfig,
    queue: Pick<Queue, 'enqueueMany'>,
    { recheckMs = 1_000, silenceMs = 10_000, onError = console.error }: OutboxRelayOptions = {},
  ) {
    this.#database = database;
    this.#queue = queue;
    this.#recheckMs = recheckMs;
    this.#silenceMs = silenceMs;
    this.#onError = onError;
  }

  start(): void {
    this.#running ??= this.#run(this.#stopping.signal);
  }

  /** Finishes the step that is under way, which takes `silenceMs` at most. Idempotent, legal before `start`. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wake();
    await this.#running;
  }

  async #run(stopping: AbortSignal): Promise<void> {
    for (let failures = 0; !stopping.aborted;) {
      try {
        await this.#connected(async (client) => {
          let isAnnounced = false;
          while (!stopping.aborted) {
            // This look may miss the lines of notifications that come from here on.
            this.#isWoken = false;
            if (await this.#step(client)) {
              if (isAnnounced) await client.query(RETRACT);
              isAnnounced = false;
            } else if (isAnnounced) await this.#untilWoken();
            // Then once more: earlier transactions did not notify us, and have ended now.
            else isAnnounced = await this.#announce(client);
            failures = 0;
          }
        });
      } catch (error) {
        this.#onError(error);
        const backoffMs = Math.min(MAX_BACKOFF_MS, 100 * 2 ** failures) * (0.5 + Math.random() / 2);
        failures += 1;
        await pause(backoffMs, undefined, { signal: stopping }).catch(() => undefined);
      }
    }
  }

  /** Runs `work` on a connection that listens, and closes it. Rejects at once when the connection is lost. */
  async #connected(work: (client: Client) => Promise<void>): Promise<void> {
    const client = new Client({
      ...this.#database,
      connectionTimeoutMillis: this.#silenceMs,
      query_timeout: this.#silenceMs,
      idle_in_transaction_session_timeout: this.#silenceMs,
      lock_timeout: Math.min(this.#recheckMs, this.#silenceMs / 2),
    });
    const lost = new Promise<never>((_, reject) => {
      client.on('error', reject);
    });
    lost.catch(() => this.#wake());
    try {
      await client.connect();
      client.on('notification', () => this.#wake());
      await client.query('listen outbox');
      await Promise.race([work(client), lost]);
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  /** Moves some tasks of one lane. Returns false if there are none, or if other relays move them already. */
  async #step(client: Client): Promise<boolean> {
    await client.query('begin');
    try {
      const [lane] = (await client.query<{ lane: number }>(LOCK_LANE)).rows;
      if (lane !== undefined) {
        // A statement of its own: it sees the rows that the relay before has deleted.
        const rows = batchOf((await client.query<Row>(READ, [lane.lane])).rows);
        const refused = await this.#enqueue(rows);
        for (const [{ id }, reason] of refused) await client.query(REFUSE, [id, reason]);
        const ids = rows.filter((row) => !refused.has(row)).map(({ id }) => id);
        await client.query(DELETE, [ids]);
      }
      await client.query('commit');
      return lane !== undefined;
    } catch (error) {
      await client.query('rollback').catch(() => undefined);
      throw error;
    }
  }

  /** Enqueues in order. Returns the refused rows, with the reason. Rejects for other errors, after which the relay tries again. */
  async #enqueue(rows: readonly Row[]): Promise<Map<Row, string>> {
    const refused = new Map<Row, string>();
    try {
      await this.#queue.enqueueMany(rows.map(taskOf));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      for (const row of rows) {
        try {
          await this.#queue.enqueueMany([taskOf(row)]);
        } catch (cause) {
          if (!isRefusal(cause)) throw cause;
          refused.set(row, cause.message);
          this.#onError(new Error(`outbox: task ${row.id} was refused: ${cause.message}`, { cause }));
        }
      }
    }
    return refused;
  }

  /** Asks for notifications. Returns false if it took too long: another relay has asked, or a transaction is long. */
  async #announce(client: Client): Promise<boolean> {
    try {
      await client.query(ANNOUNCE);
      return true;
    } catch (error) {
      if ((error as DatabaseError).code === LOCK_TIMEOUT) return false;
      throw error;
    }
  }

  async #untilWoken(): Promise<void> {
    if (this.#isWoken) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#endWait = resolve;
      timer = setTimeout(resolve, this.#recheckMs);
    });
    clearTimeout(timer);
  }

  #wake(): void {
    this.#isWoken = true;
    this.#endWait();
  }
}

/** The first rows, up to the limit; one at least. */
function batchOf(rows: readonly Row[]): Row[] {
  let bytes = 0;
  const end = rows.findIndex((row, index) => (bytes += row.bytes) > MAX_BATCH_BYTES && index > 0);
  return end < 0 ? [...rows] : rows.slice(0, end);
}

function taskOf({ id, name, payload, options }: Row): Parameters<Queue['enqueueMany']>[0][number] {
  return { name, payload, options: { dedupMs: DEDUP_MS, ...options, id } };
}

function isRefusal(error: unknown): error is Error {
  if (error instanceof TypeError || error instanceof RangeError) return true;
  return error instanceof Error && 'code' in error && REFUSALS.has(String(error.code));
}
