/** The reads of cached rows: those of a tick share one MGET for each shard. */
import { callRedisBuffer, Coalescer, requireArray, requireName } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import type { CacheTelemetry } from '../telemetry/cache-telemetry.js';
import type { ShardKeys, TableKeys } from './keys.js';
import type { RowCodec } from './row-codec.js';

/** Rows in one MGET: about 1 ms of the server. */
const MAX_BATCH = 500;

export class RowReads<Row> {
  readonly counts = { hits: 0, misses: 0 };
  readonly #keys: TableKeys;
  readonly #codec: RowCodec<Row>;
  readonly #telemetry: CacheTelemetry | undefined;
  readonly #reads: Coalescer<ShardKeys, string, Buffer | null>;

  constructor(
    redis: RedisClient,
    keys: TableKeys,
    codec: RowCodec<Row>,
    telemetry: CacheTelemetry | undefined,
  ) {
    this.#keys = keys;
    this.#codec = codec;
    this.#telemetry = telemetry;
    this.#reads = new Coalescer(
      async (shard, ids) => {
        const values = ids.map((id) => shard.row(id));
        return (await callRedisBuffer(redis, 'mget', values)) as (Buffer | null)[];
      },
      { maxBatch: MAX_BATCH },
    );
  }

  async get(id: string): Promise<Row | null> {
    requireName('id', id);
    const row = this.#codec.decode(await this.#reads.submit(this.#keys.of(id), id));
    this.count(row !== null);
    return row;
  }

  count(isFound: boolean): void {
    this.counts[isFound ? 'hits' : 'misses'] += 1;
    this.#telemetry?.read(isFound ? 'hit' : 'miss');
  }

  async getMany(ids: readonly string[]): Promise<Map<string, Row>> {
    const rows = await Promise.all(requireArray('ids', ids).map((id) => this.get(id)));
    const found = new Map<string, Row>();
    for (const [index, row] of rows.entries()) if (row !== null) found.set(ids[index]!, row);
    return found;
  }
}
