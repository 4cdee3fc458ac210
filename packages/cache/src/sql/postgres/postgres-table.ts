/** The description of a table in PostgreSQL's catalogue, read once. */
import { SqlSourceError } from '../../errors.js';
import { quote } from '../identifier.js';
import type { SourceTable } from '../source-options.js';
import type { PostgresConnections } from './postgres-pool.js';

/** A table as used in queries. */
export interface PostgresTable {
  /** Quoted, with its schema if one was given. */
  readonly name: string;
  /** The type of the id, quoted. */
  readonly idType: string;
  /** Whether a text can be an id of that type. Other texts are not queried: one of them would fail the whole query. */
  readonly isId: (id: string) => boolean;
  /** Whether no text accepted by `isId` can fail the query. */
  readonly isChecked: boolean;
}

/** The largest whole number of each type. */
const LIMITS: Readonly<Record<string, bigint>> = {
  int2: 2n ** 15n,
  int4: 2n ** 31n,
  int8: 2n ** 63n,
  oid: 2n ** 32n,
};
const WHOLE = /^(0|-?[1-9]\d{0,18})$/;
/** Types that accept any text without NUL. */
const TEXTS = new Set(['text', 'varchar', 'bpchar', 'name', 'citext']);
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

// A domain counts as its base type.
const DESCRIBE = `
select attname, typnspname, typname from (
  select a.attname, n.nspname as typnspname, t.typname, a.attnum
  from pg_catalog.pg_attribute a
  join pg_catalog.pg_type d on d.oid = a.atttypid
  join pg_catalog.pg_type t on t.oid = case d.typtype when 'd' then d.typbasetype else d.oid end
  join pg_catalog.pg_namespace n on n.oid = t.typnamespace
  where a.attrelid = pg_catalog.to_regclass($1) and a.attnum > 0 and not a.attisdropped
) as columns order by attnum`;

export function tableName(schema: string | undefined, table: string): string {
  return schema === undefined ? quote(table) : `${quote(schema)}.${quote(table)}`;
}

const SCHEMA = `select n.nspname from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.oid = pg_catalog.to_regclass($1)`;

/** The schema of the table. Throws SqlSourceError if there is no such table. */
export async function schemaOf(
  connections: Pick<PostgresConnections, 'query'>,
  schema: string | undefined,
  table: string,
  signal?: AbortSignal,
): Promise<string> {
  const { rows } = await connections.query({ text: SCHEMA, values: [tableName(schema, table)] }, signal);
  const [found] = rows;
  if (!found) throw new SqlSourceError('ERR_SQL_SCHEMA', table, 'does not exist');
  return found[0] as string;
}

/** Throws SqlSourceError for a missing table or column. */
export async function describeTable(
  connections: PostgresConnections,
  schema: string | undefined,
  { table, id, columns = [] }: SourceTable,
  signal?: AbortSignal,
): Promise<PostgresTable> {
  const name = tableName(schema, table);
  const { rows } = await connections.query({ text: DESCRIBE, values: [name] }, signal);
  if (rows.length === 0) throw new SqlSourceError('ERR_SQL_SCHEMA', table, 'does not exist');
  const types = new Map(rows.map(([column, ...type]) => [column as string, type as [string, string]]));
  for (const column of [id, ...columns]) {
    if (!types.has(column))
      throw new SqlSourceError('ERR_SQL_SCHEMA', table, `has no column ${JSON.stringify(column)}`);
  }
  const [typeSchema, type] = types.get(id)!;
  const isChecked = LIMITS[type] !== undefined || type === 'uuid' || TEXTS.has(type);
  return { name, idType: `${quote(typeSchema)}.${quote(type)}`, isId: isIdOf(type), isChecked };
}

const KINDS = `
select (select relkind::text from pg_catalog.pg_class where oid = pg_catalog.to_regclass($1)),
  array(select attname::text from pg_catalog.pg_attribute
    where attrelid = pg_catalog.to_regclass($2) and attnum > 0 and not attisdropped order by attnum)`;

/** The columns of an outbox made by `postgresOutboxSql`. */
const OUTBOX_COLUMNS = ['tx', 'seq', 'id', 'notifies'];

/** Throws SqlSourceError for a relation without triggers, and if another table has the name of the outbox. */
export async function requireOutboxTable(
  connections: PostgresConnections,
  {
    schema,
    table,
    outbox,
  }: { readonly schema?: string | undefined; readonly table: string; readonly outbox: string },
): Promise<void> {
  const values = [tableName(schema, table), tableName(schema, outbox)];
  const { rows } = await connections.query({ text: KINDS, values });
  const [kind, columns] = rows[0] as [string | null, string[]];
  if (kind !== 'r' && kind !== 'p')
    throw new SqlSourceError(
      'ERR_SQL_SCHEMA',
      table,
      'is not a table of this database, so triggers cannot record its changes',
    );
  if (columns.length > 0 && OUTBOX_COLUMNS.some((column) => !columns.includes(column)))
    throw new SqlSourceError('ERR_SQL_SCHEMA', outbox, 'exists and is not an outbox');
}

function isIdOf(type: string): (id: string) => boolean {
  const limit = LIMITS[type];
  if (limit !== undefined) {
    const least = type === 'oid' ? 0n : -limit;
    return (id) => WHOLE.test(id) && BigInt(id) >= least && BigInt(id) < limit;
  }
  if (type === 'uuid') return (id) => UUID.test(id);
  return (id) => !id.includes('\0');
}
