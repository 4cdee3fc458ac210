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

export function outboxName({ table, outbox }: { table: string; outbox?: string | undefined }): string {
  return requireIdentifier('outbox', outbox ?? `${table}_mortise_outbox`, MAX_NAME_BYTES - SUFFIX_BYTES);
}

/**
 * The outbox of a table and its triggers, as SQL for PostgreSQL 13 and later. Each statement that inserts, updates or deletes notes the ids of
 * its rows by one further insert; at its commit one notification is sent, if a feed is asleep and `notify` is not false. `truncate` is not noted. Who may change
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
  const trigger = (on: string, event: string, how: string): string => `
  if not exists (select from pg_catalog.pg_trigger
      where tgrelid = ${literal(on)}::regclass and tgname = ${literal(`${name}_${event}`)}) then
    create ${how.replace('$name', () => quote(`${name}_${event}`))};
  end if;`;
  const noting = (event: string, tables: string): string =>
    trigger(
      table,
      event,
      `trigger $name after ${event} on ${table} referencing ${tables}
      for each statement execute function ${note}()`,
    );
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
    if TG_LEVEL = 'ROW' then
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
do ${dollarQuoted(`
begin${[
      noting('insert', 'new table as mortise_new'),
      noting('update', 'new table as mortise_new'),
      noting('delete', 'old table as mortise_old'),
      trigger(
        table,
        'moved',
        `trigger $name after update of ${id} on ${table} for each row
      when (old.${id} is distinct from new.${id} and old.${id} is not null) execute function ${note}()`,
      ),
      notifies
        ? trigger(
            outbox,
            'ring',
            `constraint trigger $name after insert on ${outbox} deferrable initially deferred
      for each row when (new.rings) execute function ${ring}()`,
          )
        : `
  drop trigger if exists ${quote(`${name}_ring`)} on ${outbox};`,
    ].join('')}
end`)};
`,
    remove: `${ONE_AT_A_TIME}
drop trigger if exists ${quote(`${name}_insert`)} on ${table};
drop trigger if exists ${quote(`${name}_update`)} on ${table};
drop trigger if exists ${quote(`${name}_delete`)} on ${table};
drop trigger if exists ${quote(`${name}_moved`)} on ${table};
drop table if exists ${outbox};
drop function if exists ${note}();
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
