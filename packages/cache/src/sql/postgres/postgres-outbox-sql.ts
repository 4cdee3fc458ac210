import { ArgumentTypeError } from '@mortise/redis';
import { literal, quote, requireIdentifier } from '../identifier.js';
import type { OutboxSql } from '../outbox.js';
import { MAX_NAME_BYTES } from './limits.js';

export interface PostgresOutboxOptions {
  /** Where the table is, and the outbox will be. Default `public`. */
  readonly schema?: string;
  readonly table: string;
  /** The column whose text is the id of a row. Default `id`. */
  readonly id?: string;
  /** The name of the outbox, up to 56 bytes. Default: the name of the table and `_mortise_outbox`. */
  readonly outbox?: string;
  /**
   * Whether a transaction that changes rows wakes a feed that is asleep, by `pg_notify`. PostgreSQL refuses PREPARE TRANSACTION after that: with
   * false, the table can be written by transactions of two phases, and the feed looks at the outbox in intervals. Default true.
   */
  readonly notify?: boolean;
}

/** The longest suffix that is put to the name of an outbox. */
const SUFFIX_BYTES = '_update'.length;

/** Two of them at once would wait for each other's locks of tables and functions. */
const ONE_AT_A_TIME = `select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('mortise outbox'));`;

/** Values of the bell: a sequence, because what is done to it is seen at once, by transactions that have not committed. */
export const LISTENING = 1;
const RUNG = 2;

/** Of the triggers of a table that stands alone, and of those of each row. */
const STATEMENT_EVENTS = ['insert', 'update', 'delete', 'moved'];
const ROW_EVENT = 'row';

/** A query's beginning: `members` are the table and what rows of it can be in. @param table An SQL expression for its name. */
function membersSql(table: string): string {
  return `with recursive members as (
      select ${table}::regclass::oid as oid
      union select heir.inhrelid from pg_catalog.pg_inherits as heir join members on heir.inhparent = members.oid
    )`;
}

/** The tables whose changes do not come into the outbox, by their names. $1: the table as it stands in SQL, $2: the name of the outbox. */
export const UNNOTED_SQL = `${membersSql('$1')}
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
 * The outbox of a table and its triggers, as SQL for PostgreSQL 13 and later. Each statement that inserts, updates or deletes notes the ids of
 * its rows by one further insert; at its commit one notification is sent, if a feed is asleep and `notify` is not false. `truncate` is not noted. Where the
 * table has or is a partition, or inherits or is inherited from, each row is noted by an insert of its own, so also one that is written by another
 * name; new partitions are noted, new heirs when this has been run again. Who may change
 * the table needs no rights on the outbox; who runs a feed may select and delete there and update the sequence. Throws
 * SqlIdentifierError (ERR_SQL_IDENTIFIER), also for a table with a name so long that the outbox needs one of its own.
 */
export function postgresOutboxSql(options: PostgresOutboxOptions): OutboxSql {
  const name = outboxName(options);
  const schema = quote(requireIdentifier('schema', options.schema ?? 'public', MAX_NAME_BYTES));
  const table = `${schema}.${quote(requireIdentifier('table', options.table, MAX_NAME_BYTES))}`;
  const id = quote(requireIdentifier('id', options.id ?? 'id', MAX_NAME_BYTES));
  const outbox = `${schema}.${quote(name)}`;
  const notifies = requireNotify(options.notify);
  const part = (suffix: string): string => `${schema}.${quote(name + suffix)}`;
  const note = part('_note');
  const ring = part('_ring');
  const bell = part('_bell');
  const has = (on: string, event: string): string => `exists (select from pg_catalog.pg_trigger
      where tgrelid = ${on}::regclass and tgname = ${literal(`${name}_${event}`)})`;
  const trigger = (on: string, event: string, how: string): string => `
  if not ${has(literal(on), event)} then
    create ${how.replace('$name', () => quote(`${name}_${event}`))};
  end if;`;
  const noting = (event: string, tables: string): string =>
    trigger(
      table,
      event,
      `trigger $name after ${event} on ${table} referencing ${tables}
      for each statement execute function ${note}()`,
    );
  const dropping = (event: string): string => `
  if ${has(literal(table), event)} then drop trigger ${quote(`${name}_${event}`)} on ${table}; end if;`;
  const insert = (rows: string): string => `insert into ${outbox} (id, rings)
      select changed.${id}::text, row_number() over () = 1 from ${rows} as changed
      where changed.${id} is not null;`;
  return {
    install: `${ONE_AT_A_TIME}
create table if not exists ${outbox} (
  tx xid8 not null default pg_catalog.pg_current_xact_id(),
  seq bigint not null generated always as identity,
  id text not null,
  rings boolean not null default true,
  primary key (tx, seq)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
-- ${LISTENING}: a feed is asleep, ${RUNG}: it has been woken.
create sequence if not exists ${bell};
create or replace function ${note}() returns trigger language plpgsql security definer
  set search_path = pg_catalog, pg_temp as ${dollarQuoted(`
  begin
    if TG_NARGS > 0 then
      -- Nothing else notes this row. One that moves to another partition is deleted there and inserted here: one of the two is null.
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
create or replace function ${ring}() returns trigger language plpgsql security definer
  set search_path = pg_catalog, pg_temp as ${dollarQuoted(`
  begin
    if (select last_value from ${bell}) = ${LISTENING} then
      perform setval(${literal(bell)}, ${RUNG});
      perform pg_notify('mortise_' || TG_RELID, '');
    end if;
    return null;
  end`)};
-- Made only where they are missing: to replace a trigger, PostgreSQL locks readers of the table out.
-- The last one runs at commit: a transaction that rang earlier would keep others from ringing while nothing of it can be seen.
-- Triggers of a statement see what is written by the name of their own table. Rows of partitions and heirs have other names as well; of
-- triggers of rows, partitions that come later get copies.
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
          ${literal(`${name}_${ROW_EVENT}`)}, member, ${literal(note)});
      end if;
    end loop;
  else${[
    noting('insert', 'new table as mortise_new'),
    noting('update', 'new table as mortise_new'),
    noting('delete', 'old table as mortise_old'),
    trigger(
      table,
      'moved',
      `trigger $name after update of ${id} on ${table} for each row
      when (old.${id} is distinct from new.${id} and old.${id} is not null) execute function ${note}()`,
    ),
  ].join('')}
  end if;${
    notifies
      ? trigger(
          outbox,
          'ring',
          `constraint trigger $name after insert on ${outbox} deferrable initially deferred
      for each row when (new.rings) execute function ${ring}()`,
        )
      : `
  drop trigger if exists ${quote(`${name}_ring`)} on ${outbox};`
  }
end`)};
`,
    remove: `${ONE_AT_A_TIME}
-- With the triggers, wherever they are.
drop function if exists ${note}() cascade;
drop table if exists ${outbox};
drop function if exists ${ring}();
drop sequence if exists ${bell};
`,
  };
}

/** The option `notify`, or its default. Throws TypeError. */
export function requireNotify(notify: unknown = true): boolean {
  if (typeof notify !== 'boolean')
    throw new ArgumentTypeError(`notify must be a boolean, got ${typeof notify}`);
  return notify;
}

/** A text that may have any quotes in it, as it stands in SQL. */
function dollarQuoted(text: string): string {
  let tag = '$mortise$';
  for (let n = 1; text.includes(tag); n += 1) tag = `$mortise${n}$`;
  return tag + text + tag;
}
