/** The changes of a schedule: those of a tick to one shard are one script call, and atomic together. */
import { Coalescer, encodeName, requireName, WaiterHub, requireIterable } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { rowCacheSchedule } from '../scripts.gen.js';
import type { ShardKeys, TableKeys } from './keys.js';
import type { TableOptions } from './options.js';

/** ms between refreshes; 0: remove the row; 'now': make it due. */
type Change = number | 'now';

/** Rows in one script call: about 1 ms of the server. */
const MAX_BATCH = 500;
/** Concurrent script calls for many rows. */
const MAX_CALLS = 4;

export class ScheduleChanges {
  readonly #redis: RedisClient;
  readonly #keys: TableKeys;
  readonly #options: Pick<TableOptions<never>, 'idleMs' | 'keepMs'>;
  readonly #changes = new Coalescer(
    (shard: ShardKeys, changes: readonly { readonly id: string; readonly change: Change }[]) =>
      this.#send(shard, changes),
    { maxBatch: MAX_BATCH },
  );

  constructor(redis: RedisClient, keys: TableKeys, options: Pick<TableOptions<never>, 'idleMs' | 'keepMs'>) {
    this.#redis = redis;
    this.#keys = keys;
    this.#options = options;
  }

  /** Returns whether the row was scheduled. */
  async change(id: string, change: Change): Promise<boolean> {
    return this.#changes.submit(this.#keys.of(requireName('id', id)), { id, change });
  }

  /** Changes many rows with a few calls at once; returns their number. */
  async changeAll(
    ids: Iterable<string> | AsyncIterable<string>,
    change: Change,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    const calls = new Set<Promise<unknown>>();
    let chunk: string[] = [];
    let count = 0;
    const send = async (): Promise<void> => {
      const call = Promise.all(chunk.map((id) => this.change(id, change)));
      chunk = [];
      calls.add(call);
      // A rejection is handled below, even if something else ends the iteration first.
      call.then(
        () => calls.delete(call),
        () => undefined,
      );
      if (calls.size >= MAX_CALLS) await Promise.race(calls);
    };
    for await (const id of requireIterable('ids', ids)) {
      signal?.throwIfAborted();
      chunk.push(requireName('id', id));
      count += 1;
      if (chunk.length === MAX_BATCH) await send();
    }
    await send();
    await Promise.all(calls);
    return count;
  }

  async #send(
    shard: ShardKeys,
    changes: readonly { readonly id: string; readonly change: Change }[],
  ): Promise<boolean[]> {
    const counts = await rowCacheSchedule.run(
      this.#redis,
      { ...shard, values: changes.map(({ id }) => shard.row(id)) },
      {
        publish: WaiterHub.of(this.#redis).publishCommand,
        idleMs: this.#options.idleMs,
        keepMs: this.#options.keepMs,
        changes: changes.flatMap(({ id, change }) => [encodeName(id), change]),
      },
    );
    return (counts as number[]).map((count) => count === 1);
  }
}
