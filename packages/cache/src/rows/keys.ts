/**
 * ## Rows
 *
 * | Key | Type | Written by | Goes away |
 * |---|---|---|---|
 * | `<prefix>:cache:{<table>}:due` | ZSET: row id → when it is due, in ms; under a lease, the end of the lease | `schedule`, `unschedule`, `refresh`, refreshers, change feeds | with its last row, or `idleMs` after the last use of the schedule |
 * | `<prefix>:cache:{<table>}:rows` | HASH: row id → when it was loaded (13 digits, zeros: never), the head of its value, then `everyMs`; or its pack | `schedule`, `unschedule`, refreshers, change feeds | as above |
 * | `<prefix>:cache:{<table>}:packs` | ZSET: pack of rows → when they are due, in ms; under a lease, the end of the lease | refreshers | as above |
 * | `<prefix>:cache:{<table>}:packed` | HASH: pack → when it was loaded, its `everyMs`, its rows, and the rows that left it | refreshers, `schedule`, `unschedule`, `refresh`, change feeds | as above |
 * | `<prefix>:cache:{<table>}:unloaded` | STRING: the number of rows that were never loaded | `schedule`, `unschedule`, refreshers | when all were loaded, or as above |
 * | `<prefix>:cache:{<table>}:failed` | ZSET: id of a row whose last load failed → when it is due, in ms; under a lease, the end of the lease | refreshers, `schedule`, `unschedule`, `refresh`, change feeds | with its last row, or as above |
 * | `<prefix>:cache:{<table>}:failures` | HASH: row id → failed loads in a row | refreshers | a field with the next success, the key as above |
 * | `<prefix>:cache:{<table>}:errors` | HASH: row id → the text of its last failure, up to 200 characters | refreshers | as `failures` |
 * | `<prefix>:cache:{<table>}:source` | HASH: failures, end of the pause and size of the next batch of a source that is down | refreshers | when the source is back, or as above |
 * | `<prefix>:cache:{<table>}:latest` | STRING: the end of the latest lease, when it was written, the progress of the check after a clock that went back, and the last call that got a lease | refreshers | `idleMs` after the last lease |
 * | `<prefix>:cache:{<table>}:row:<id>` | STRING: the row | refreshers | `keepMs`, at least 10 × `everyMs`, after it was last stored; at once by `unschedule` |
 * | `<prefix>:cache:{<table>}:feed` | STRING: the token of the change feed that reads; on the first shard only | change feeds | `leaseMs` after its last renewal; at once by `stop` |
 * | `<prefix>:cache:{<table>}:feed` | channel | change feeds that stop, to waiting ones | holds nothing |
 * | `<prefix>:cache:{<table>}:wake` | channel | `schedule`, `refresh`, change feeds, refreshers, to idle refreshers | holds nothing |
 *
 * A table with `shards` has all of these for each shard: the tag of shard n > 0 is `{<table>%%n}`.
 */
import { KeySpace, keySlot } from '@mortise/redis';
import type { EntityKeys } from '@mortise/redis';

/** The keys of one shard: its rows and their schedule share a slot. */
export interface ShardKeys {
  readonly due: string;
  readonly rows: string;
  readonly packs: string;
  readonly packed: string;
  readonly unloaded: string;
  readonly failed: string;
  readonly failures: string;
  readonly errors: string;
  readonly source: string;
  readonly latest: string;
  readonly feed: string;
  readonly wake: string;
  readonly row: (id: string) => string;
}

/** The keys of one table, by shard. */
export class TableKeys {
  readonly table: string;
  readonly shards: readonly ShardKeys[];

  constructor(table: string, prefix: string | undefined, shards: number) {
    const space = new KeySpace('cache', prefix);
    this.table = table;
    this.shards = Array.from({ length: shards }, (_, shard) =>
      shardKeys(space.entity(table, 'table', shard)),
    );
  }

  /** The shard of a row. It depends only on the id and the number of shards. */
  of(id: string): ShardKeys {
    const { shards } = this;
    return shards[shards.length === 1 ? 0 : keySlot(id) % shards.length]!;
  }
}

function shardKeys(entity: EntityKeys): ShardKeys {
  return {
    due: entity.key('due'),
    rows: entity.key('rows'),
    packs: entity.key('packs'),
    packed: entity.key('packed'),
    unloaded: entity.key('unloaded'),
    failed: entity.key('failed'),
    failures: entity.key('failures'),
    errors: entity.key('errors'),
    source: entity.key('source'),
    latest: entity.key('latest'),
    feed: entity.key('feed'),
    wake: entity.key('wake'),
    row: (id) => entity.key('row', id),
  };
}
