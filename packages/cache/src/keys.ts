/**
 * | Key | Type | Written by | Goes away |
 * |---|---|---|---|
 * | `<prefix>:cache:{<table>}:due` | ZSET: row id → when it is due, in ms; while a refresher has it, the end of its lease | `schedule`, `unschedule`, `refresh`, refreshers | with its last row, or `idleMs` after a refresher or a change of the schedule last touched it |
 * | `<prefix>:cache:{<table>}:every` | ZSET: row id → `everyMs` | `schedule`, `unschedule`, refreshers | likewise |
 * | `<prefix>:cache:{<table>}:failures` | HASH: row id → failed loads in a row | refreshers | a field with the next success, the key likewise |
 * | `<prefix>:cache:{<table>}:lease` | STRING: the end of the latest lease | refreshers | `idleMs` after the last claim |
 * | `<prefix>:cache:{<table>}:row:<id>` | STRING: the row | refreshers | 10 × `everyMs`, at least 10 minutes, after the last attempt to load it; at once by `unschedule` |
 * | `<prefix>:cache:{<table>}:wake` | channel | `schedule`, `refresh`, to refreshers that sleep | holds nothing |
 */
import { KeySpace } from '@mortise/redis';
import type { EntityKeys } from '@mortise/redis';

/** The keys of one table. The table is the entity: its rows and their schedule share one slot. */
export class TableKeys {
  readonly #entity: EntityKeys;
  readonly due: string;
  readonly every: string;
  readonly failures: string;
  readonly lease: string;
  readonly wake: string;

  constructor(table: string, prefix: string | undefined) {
    this.#entity = new KeySpace('cache', prefix).entity(table, 'table');
    this.due = this.#entity.key('due');
    this.every = this.#entity.key('every');
    this.failures = this.#entity.key('failures');
    this.lease = this.#entity.key('lease');
    this.wake = this.#entity.key('wake');
  }

  get table(): string {
    return this.#entity.name;
  }

  row(id: string): string {
    return this.#entity.key('row', id);
  }
}
