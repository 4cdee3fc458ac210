/**
 * A day is one entity, hence one slot: a checkpoint adds to all aggregates of the day, or to none. The worker writes, the API reads.
 *
 * | Key | Type | Written by | Goes away |
 * |---|---|---|---|
 * | `country` | ZSET of `US`, score: lines | count, drain | `keepMs` after the day was last counted |
 * | `region` | ZSET of `US/California` | count, drain | as `country` |
 * | `city` | ZSET of `US/California/Oakland` | count, drain | as `country` |
 * | `total` | STRING lines | count | as `country` |
 * | `files` | HASH file → offset up to which its lines of this day are counted | count | `markerMs` after the day was last counted |
 * | `staged:<writer>:<file>` | LIST of parts of a checkpoint that isn't counted yet | stage | when it is counted, or 10 s later |
 * | `pending:<file>` | LIST of parts of a checkpoint that is counted, and whose parts wait for their turn | count | when the last part is added |
 *
 * Of a file that never comes again once it is done, as those of a channel, it is kept which days have a field of it, in a slot of its own, until that
 * is forgotten; and for all files together, which of them wait for that, so that any worker sees to those of one that was killed.
 *
 * | Key | Type | Written by | Goes away |
 * |---|---|---|---|
 * | `days` of `file:<file>` | SET of days | count | when it is forgotten, or `markerMs` after it was begun last |
 * | `files` of `done` | ZSET file → when it was done, ms | done | a file when it is forgotten; `markerMs` after the last one was done |
 *
 * Members are made by `memberOf` of place.ts; there are as many as there are places, at most. No key of a day outlives its retention.
 */
import { KeySpace } from '@mortise/redis';

export const DIMENSIONS = ['country', 'region', 'city'] as const;

export type Dimension = (typeof DIMENSIONS)[number];

export interface DayKeys {
  readonly country: string;
  readonly region: string;
  readonly city: string;
  readonly total: string;
  readonly files: string;
  readonly pendingOf: (file: string) => string;
  readonly stagedOf: (writer: string, file: string) => string;
}

export interface DoneKeys {
  readonly done: string;
  readonly daysOf: (file: string) => string;
}

export function doneKeys(prefix: string | undefined): DoneKeys {
  const space = new KeySpace('aggregates', prefix);
  return {
    done: space.entity('done', 'done').key('files'),
    daysOf: (file) => space.entity(`file:${file}`, 'file').key('days'),
  };
}

/** @param day `2026-11-20` */
export function dayKeys(prefix: string | undefined, day: string): DayKeys {
  const entity = new KeySpace('aggregates', prefix).entity(`daily:${day}`, 'day');
  return {
    country: entity.key('country'),
    region: entity.key('region'),
    city: entity.key('city'),
    total: entity.key('total'),
    files: entity.key('files'),
    pendingOf: (file) => entity.key('pending', file),
    stagedOf: (writer, file) => entity.key('staged', `${writer}:${file}`),
  };
}
