/** Stock in PostgreSQL, which each sale reduces, and the rows of it that pages read from Redis. */
import { until } from '@mortise/test-kit';
import { Pool } from 'pg';
import type { ServiceClient } from './client.js';

const IDS = ['sword', 'shield', 'potion'];
const AT_FIRST = 1_000_000;
const REFRESH_MS = 500;
const CATCH_UP_MS = 60_000;

export class Stock {
  /** Rows that were read, and those of them that showed what was never so. */
  pages = 0;
  impossible = 0;
  readonly #client: ServiceClient;
  readonly #pool: Pool;

  constructor(client: ServiceClient, url: string) {
    this.#client = client;
    this.#pool = new Pool({ connectionString: url, max: 4 });
    // A connection that falls idle as the server stops.
    this.#pool.on('error', () => undefined);
  }

  /** Before a worker looks for the table. */
  static async create(url: string): Promise<void> {
    const pool = new Pool({ connectionString: url, max: 1 });
    await pool.query('CREATE TABLE stock (id TEXT PRIMARY KEY, remaining INTEGER NOT NULL)');
    for (const id of IDS) await pool.query('INSERT INTO stock VALUES ($1, $2)', [id, AT_FIRST]);
    await pool.end();
  }

  async prepare(): Promise<void> {
    for (const id of IDS)
      await this.#client.get('PUT', `cache/stock/rows/${id}`, { body: { refreshMs: REFRESH_MS } });
  }

  /** An item is sold: one of its kind less. */
  async take(itemId: string): Promise<void> {
    const id = IDS[Number(itemId.split('-')[1]) % IDS.length];
    await this.#pool.query('UPDATE stock SET remaining = remaining - 1 WHERE id = $1', [id]);
  }

  /** Reads pages until the signal is aborted. Stock shrinks only: a page may show more than there is, never less. */
  async run(signal: AbortSignal): Promise<void> {
    for (let n = 0; !signal.aborted; n += 1) {
      const id = IDS[n % IDS.length]!;
      const shown = await this.#shown(id);
      this.pages += 1;
      if (shown < (await this.#inSql(id)) || shown > AT_FIRST) this.impossible += 1;
    }
  }

  /** Waits until each row shows what SQL says. */
  async caughtUp(): Promise<void> {
    for (const id of IDS) {
      const isEqual = async (): Promise<boolean> => (await this.#shown(id)) === (await this.#inSql(id));
      await until(`the row ${id} is that of SQL`, isEqual, CATCH_UP_MS);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #shown(id: string): Promise<number> {
    const { document } = await this.#client.get('GET', `cache/stock/rows/${id}`);
    return document.remaining;
  }

  async #inSql(id: string): Promise<number> {
    const { rows } = await this.#pool.query<{ remaining: number }>(
      'SELECT remaining FROM stock WHERE id = $1',
      [id],
    );
    return rows[0]!.remaining;
  }
}
