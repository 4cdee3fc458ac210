/**
 * | Key | Type | Written by | Goes away |
 * |---|---|---|---|
 * | `<prefix>:cache:{<table>}:due` | ZSET: row id → when it is due, in ms; while a refresher has it, the end of its lease | `schedule`, `unschedule`, `refresh`, refreshers | with its last row, or `idleMs` after a refresher or a change of the schedule last touched it |
 * | `<prefix>:cache:{<table>}:rows` | HASH: row id → when it was loaded (13 digits, zeros: never), the head of its value, then `everyMs`; or its pack | `schedule`, `unschedule`, refreshers | likewise |
 * | `<prefix>:cache:{<table>}:packs` | ZSET: pack of rows → when they are due, in ms; while a refresher has them, the end of their lease | refreshers | likewise |
 * | `<prefix>:cache:{<table>}:packed` | HASH: pack → when it was loaded, how often, which rows, which have left it | refreshers, `schedule`, `unschedule`, `refresh`, change feeds | likewise |
 * | `<prefix>:cache:{<table>}:unloaded` | STRING: how many rows were never loaded | `schedule`, `unschedule`, refreshers | when all were, or likewise |
 * | `<prefix>:cache:{<table>}:failures` | HASH: row id → failed loads in a row | refreshers | a field with the next success, the key likewise |
 * | `<prefix>:cache:{<table>}:suspects` | ZSET: id of a row whose last load failed → when it is due, in ms; while a refresher has it, the end of its lease | refreshers, `schedule`, `unschedule`, `refresh`, change feeds | with its last row, or likewise |
 * | `<prefix>:cache:{<table>}:hung` | ZSET: likewise, of rows whose query took long although it was for them alone | likewise | likewise |
 * | `<prefix>:cache:{<table>}:source` | HASH: failures, end of the pause and size of the next batch of a source that is down | refreshers | when the source is back, or likewise |
 * | `<prefix>:cache:{<table>}:lease` | STRING: the end of the latest lease, when a claim wrote this, and how far rows were looked for that lie too far ahead | refreshers | `idleMs` after the last claim |
 * | `<prefix>:cache:{<table>}:row:<id>` | STRING: the row | refreshers | `keepMs`, at least 10 × `everyMs`, after it was last stored; at once by `unschedule` |
 * | `<prefix>:cache:{<table>}:feed` | STRING: the token of the change feed that reads; on the first shard only | change feeds | `leaseMs` after its last renewal; at once by `stop` |
 * | `<prefix>:cache:{<table>}:feed` | channel | change feeds that stop, to those that wait | holds nothing |
 * | `<prefix>:cache:{<table>}:wake` | channel | `schedule`, `refresh`, change feeds, refreshers, to refreshers that sleep | holds nothing |
 *
 * A table with `shards` has all of these once for each: the tag of shard n > 0 is `{<table>%%n}`.
 */
import { KeySpace, keySlot } from '@mortise/redis';
import type { EntityKeys } from '@mortise/redis';

/** The keys of one shard: its rows and their schedule share a slot. */
export class ShardKeys {
  readonly #entity: EntityKeys;
  readonly due: string;
  readonly rows: string;
  readonly packs: string;
  readonly packed: string;
  readonly unloaded: string;
  readonly failures: string;
  readonly suspects: string;
  readonly hung: string;
  readonly source: string;
  readonly lease: string;
  readonly feed: string;
  readonly wake: string;

  constructor(entity: EntityKeys) {
    this.#entity = entity;
    this.due = entity.key('due');
    this.rows = entity.key('rows');
    this.packs = entity.key('packs');
    this.packed = entity.key('packed');
    this.unloaded = entity.key('unloaded');
    this.failures = entity.key('failures');
    this.suspects = entity.key('suspects');
    this.hung = entity.key('hung');
    this.source = entity.key('source');
    this.lease = entity.key('lease');
    this.feed = entity.key('feed');
    this.wake = entity.key('wake');
  }

  row(id: string): string {
    return this.#entity.key('row', id);
  }
}

/** The keys of one table, by shard. */
export class TableKeys {
  readonly table: string;
  readonly shards: readonly ShardKeys[];

  constructor(table: string, prefix: string | undefined, shards: number) {
    const space = new KeySpace('cache', prefix);
    this.table = table;
    this.shards = Array.from(
      { length: shards },
      (_, shard) => new ShardKeys(space.entity(table, 'table', shard)),
    );
  }

  /** Where a row is kept. It depends on nothing but the id and the number of shards. */
  of(id: string): ShardKeys {
    const { shards } = this;
    return shards[shards.length === 1 ? 0 : keySlot(id) % shards.length]!;
  }
}
