import { requireBoolean, requireOptions } from '@mortise/redis';
import { literal, quote, requireIdentifier } from '../identifier.js';
import type { OutboxSql } from '../../outbox.js';

export interface PostgresOutboxOptions {
  /** The schema of the table and of its outbox. Default `public`. */
  readonly schema?: string | undefined;
  /** The name of the table. */
  readonly table: string;
  /** The unique column whose text is the row id. Default `id`. */
  readonly id?: string | undefined;
  /** The name of the outbox, up to 56 bytes. Default: the table name followed by `_mortise_outbox`. */
  readonly outbox?: string | undefined;
  /**
   * Whether a transaction that changes rows wakes an idle feed by `pg_notify`. After a notification PostgreSQL refuses PREPARE
   * TRANSACTION. So use false for a table that is written by two-phase commit; the feed then reads the outbox at intervals.
   * Default true.
   */
  readonly notify?: boolean | undefined;
}

/** Limit of a name: the server truncates longer ones. */
export const MAX_NAME_BYTES = 63;
const OPTIONS: ReadonlySet<string> = new Set<keyof PostgresOutboxOptions>([
  'schema',
  'table',
  'id',
  'outbox',
  'notify',
]);
/** The longest suffix of a name derived from the outbox's. */
const SUFFIX_BYTES = '_update'.length;

/** Concurrent installations would deadlock on tables and functions. */
const ONE_AT_A_TIME = `select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('mortise outbox'));`;

/** Values of the sequence `_idle`. A sequence, because other transactions see `setval` at once, before commit. */
export const IDLE = 1;
const NOTIFIED = 2;

/** Statement triggers, for a table without partitions and inheritance; others have row triggers. */
const STATEMENT_EVENTS = ['insert', 'update', 'delete', 'moved'];
const ROW_EVENT = 'row';

/** The start of a query: `members` are the table, its partitions and its child tables. @param table An SQL expression for its name. */
function membersSql(table: string): string {
  return `with recursive members as (
      select ${table}::regclass::oid as oid
      union select child.inhrelid from pg_catalog.pg_inherits as child join members on child.inhparent = members.oid
    )`;
}

/** The tables whose changes the outbox misses. $1: the table as an SQL identifier, $2: the name of the outbox. */
export const UNRECORDED_SQL = `${membersSql('$1')}
select members.oid::regclass::text from members where not exists (
    select from pg_catalog.pg_trigger where tgrelid = members.oid and tgname = $2 || '_${ROW_EVENT}'
  ) and (
    exists (select from pg_catalog.pg_inherits where members.oid in (inhparent, inhrelid))
    or (select relkind from pg_catalog.pg_class as class where class.oid = members.oid) = 'p'
    or (select count(*) from pg_catalog.pg_trigger where tgrelid = members.oid
      and tgname in (${STATEMENT_EVENTS.map((event) => `$2 || '_${event}'`).join(', ')})) < ${STATEMENT_EVENTS.length}
  ) order by 1`;

export function outboxName({ table, outbox }: { table: string; outbox?: string | undefined }): string {
  return requireIdentifier('outbox', outbox ?? `${table}_mortise_outbox`, MAX_NAME_BYTES - SUFFIX_BYTES);
}

/**
 * The SQL of an outbox and its triggers, for PostgreSQL 13 and later. Each statement that inserts, updates or deletes rows
 * records their ids by one more insert. The commit sends one notification if a feed is idle and `notify` is not false.
 * `truncate` is not recorded.
 *
 * A table with partitions or inheritance, as parent or child, has row triggers. Each row is recorded by its own insert,
 * whatever table name the statement uses. New partitions are included. New child tables need another installation. Writers need
 * no rights on the outbox. A feed needs the rights to select and delete there and to update the sequence. Throws SqlSourceError
 * (ERR_SQL_IDENTIFIER), also for a table whose long name requires the option `outbox`.
 */
export function postgresOutboxSql(options: PostgresOutboxOptions): OutboxSql {
  requireOptions('postgresOutboxSql', options, OPTIONS);
  const name = outboxName(options);
  const schema = quote(requireIdentifier('schema', options.schema ?? 'public', MAX_NAME_BYTES));
  const table = `${schema}.${quote(requireIdentifier('table', options.table, MAX_NAME_BYTES))}`;
  const id = quote(requireIdentifier('id', options.id ?? 'id', MAX_NAME_BYTES));
  const outbox = `${schema}.${quote(name)}`;
  const notifies = requireNotify(options.notify);
  const part = (suffix: string): string => `${schema}.${quote(name + suffix)}`;
  const record = part('_record');
  const notifyFunction = part('_notify');
  const idle = part('_idle');
  const has = (on: string, event: string): string => `exists (select from pg_catalog.pg_trigger
      where tgrelid = ${on}::regclass and tgname = ${literal(`${name}_${event}`)})`;
  const trigger = (on: string, event: string, how: string): string => `
  if not ${has(literal(on), event)} then
    create ${how.replace('$name', () => quote(`${name}_${event}`))};
  end if;`;
  const recording = (event: string, tables: string): string =>
    trigger(
      table,
      event,
      `trigger $name after ${event} on ${table} referencing ${tables}
      for each statement execute function ${record}()`,
    );
  const dropping = (event: string): string => `
  if ${has(literal(table), event)} then drop trigger ${quote(`${name}_${event}`)} on ${table}; end if;`;
  const insert = (rows: string): string => `insert into ${outbox} (id, notifies)
      select changed.${id}::text, row_number() over () = 1 from ${rows} as changed
      where changed.${id} is not null;`;
  return {
    install: `${ONE_AT_A_TIME}
create table if not exists ${outbox} (
  tx xid8 not null default pg_catalog.pg_current_xact_id(),
  seq bigint not null generated always as identity,
  id text not null,
  notifies boolean not null default true,
  primary key (tx, seq)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
-- ${IDLE}: a feed is idle, ${NOTIFIED}: it was notified.
create sequence if not exists ${idle};
create or replace function ${record}() returns trigger language plpgsql security definer
  set search_path = pg_catalog, pg_temp as ${dollarQuoted(`
  begin
    if TG_NARGS > 0 then
      -- A row trigger. A row that moves to another partition is deleted there and inserted here: old or new is null.
      if old.${id} is not null and old.${id} is distinct from new.${id} then
        insert into ${outbox} (id) values (old.${id}::text);
      end if;
      if new.${id} is not null then
        insert into ${outbox} (id) values (new.${id}::text);
      end if;
    elsif TG_LEVEL = 'ROW' then
      insert into ${outbox} (id) values (old.${id}::text);
    elsif TG_OP = 'DELETE' then
      ${insert('mortise_old')}
    else
      ${insert('mortise_new')}
    end if;
    return null;
  end`)};
create or replace function ${notifyFunction}() returns trigger language plpgsql security definer
  set search_path = pg_catalog, pg_temp as ${dollarQuoted(`
  begin
    if (select last_value from ${idle}) = ${IDLE} then
      perform setval(${literal(idle)}, ${NOTIFIED});
      perform pg_notify('mortise_' || TG_RELID, '');
    end if;
    return null;
  end`)};
-- Missing triggers only: replacing a trigger locks out the readers of a table.
-- The notifying trigger is deferred to the commit: an earlier one would keep others from notifying while its rows are still invisible.
-- Statement triggers see only statements that use the name of their own table. Partitions and child tables have other names as well.
-- New partitions copy row triggers.
do ${dollarQuoted(`
declare
  member regclass;
begin
  if ${has(literal(table), ROW_EVENT)} or exists (select from pg_catalog.pg_class
      where oid = ${literal(table)}::regclass and relkind = 'p') or exists (select from pg_catalog.pg_inherits
      where inhparent = ${literal(table)}::regclass or inhrelid = ${literal(table)}::regclass) then${STATEMENT_EVENTS.map(dropping).join('')}
    for member in ${membersSql(literal(table))} select oid from members loop
      if not ${has('member', ROW_EVENT)} then
        execute pg_catalog.format('create trigger %I after insert or update or delete on %s for each row execute function %s(''row'')',
          ${literal(`${name}_${ROW_EVENT}`)}, member, ${literal(record)});
      end if;
    end loop;
  else${[
    recording('insert', 'new table as mortise_new'),
    recording('update', 'new table as mortise_new'),
    recording('delete', 'old table as mortise_old'),
    trigger(
      table,
      'moved',
      `trigger $name after update of ${id} on ${table} for each row
      when (old.${id} is distinct from new.${id} and old.${id} is not null) execute function ${record}()`,
    ),
  ].join('')}
  end if;${
    notifies
      ? trigger(
          outbox,
          'notify',
          `constraint trigger $name after insert on ${outbox} deferrable initially deferred
      for each row when (new.notifies) execute function ${notifyFunction}()`,
        )
      : `
  drop trigger if exists ${quote(`${name}_notify`)} on ${outbox};`
  }
end`)};
`,
    remove: `${ONE_AT_A_TIME}
-- Removes the triggers of all tables, too.
drop function if exists ${record}() cascade;
drop table if exists ${outbox};
drop function if exists ${notifyFunction}();
drop sequence if exists ${idle};
`,
  };
}

/** The option `notify`, or its default. Throws TypeError. */
export function requireNotify(notify: unknown = true): boolean {
  return requireBoolean('notify', notify);
}

/** A text with any quotes, as an SQL literal. */
function dollarQuoted(text: string): string {
  let tag = '$mortise$';
  for (let n = 1; text.includes(tag); n += 1) tag = `$mortise${n}$`;
  return tag + text + tag;
}
