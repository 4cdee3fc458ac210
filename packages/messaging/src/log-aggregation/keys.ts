/**
 * A day is one entity, hence one slot: a checkpoint adds to all aggregates of the day, or to none. The worker writes, the API reads.
 *
 * ## Log aggregation
 *
 * | Key | Type | Written by | Goes away |
 * |---|---|---|---|
 * | `<prefix>:aggregates:{daily:<day>}:country` | ZSET of `US`, score: lines | count, drain | `keepMs` after the day was last counted |
 * | `<prefix>:aggregates:{daily:<day>}:region` | ZSET of `US/California` | count, drain | as `country` |
 * | `<prefix>:aggregates:{daily:<day>}:city` | ZSET of `US/California/Oakland` | count, drain | as `country` |
 * | `<prefix>:aggregates:{daily:<day>}:total` | STRING: lines | count | as `country` |
 * | `<prefix>:aggregates:{daily:<day>}:files` | HASH file → offset up to which its lines of this day are counted | count | `markerMs` after the day was last counted |
 * | `<prefix>:aggregates:{daily:<day>}:staged:<writer>:<file>` | LIST: segments of a checkpoint (a flush) that isn't counted yet | stage | when it is counted, or 10 s later |
 * | `<prefix>:aggregates:{daily:<day>}:pending:<file>` | LIST: segments of a counted checkpoint | count | when the last one is added |
 *
 * Of a file that never comes again once it is done, as those of a channel, it is kept which days have a field of it, in a slot of its own, until that
 * is forgotten; and for all files together, which of them wait for that, so that any worker sees to those of one that was killed.
 *
 * | Key | Type | Written by | Goes away |
 * |---|---|---|---|
 * | `<prefix>:aggregates:{file:<file>}:days` | SET of days | count | when its marks are removed, or `markerMs` after the file was last begun |
 * | `<prefix>:aggregates:{done}:files` | ZSET file → when it was done, ms | done | a file when its marks are removed; all `markerMs` after the last file was done |
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
