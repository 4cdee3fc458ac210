import { ArgumentTypeError, requireDuration, requireOptions } from '@mortise/redis';
import { quote, requireIdentifier } from './identifier.js';

/** The rows that a source loads. */
export interface SourceOptions {
  /** The table or view (a view has no outbox). The name is quoted: capitals and spaces are kept. 1 to 63 bytes; in SQLite up to 1,024. */
  readonly table: string;
  /** The unique column whose text is the row id. Default `id`. */
  readonly id?: string | undefined;
  /** The columns of a row. Default: all columns at the time of each load. */
  readonly columns?: readonly string[] | undefined;
  /**
   * A condition in SQL, such as `deleted_at is null`; other rows count as missing. It becomes part of the query unchanged,
   * so never use a user's text.
   */
  readonly where?: string | undefined;
  /** The time limit of one query, in ms, up to 1 hour. Default 5,000. */
  readonly queryTimeoutMs?: number | undefined;
  /** The outbox of a `ChangeFeed`. Default: the table name followed by `_mortise_outbox`. */
  readonly outbox?: string | undefined;
}

export interface SourceTable {
  readonly table: string;
  readonly id: string;
  readonly columns: readonly string[] | undefined;
  readonly where: string | undefined;
  readonly queryTimeoutMs: number;
  /** Undefined: the default. */
  readonly outbox: string | undefined;
}

const SOURCE_DEFAULTS = { id: 'id', queryTimeoutMs: 5_000 };

const COMMON_OPTIONS = ['table', 'id', 'columns', 'where', 'queryTimeoutMs', 'outbox'] as const;

/** @param source The class, for errors. @param own The options of this class alone. */
export function resolveSourceOptions(
  options: SourceOptions,
  { source, own, maxNameBytes }: { source: string; own: readonly string[]; maxNameBytes: number },
): SourceTable {
  requireOptions(source, options, new Set<string>([...COMMON_OPTIONS, ...own]));
  const { columns, where, outbox } = options;
  if (columns !== undefined && (!Array.isArray(columns) || columns.length === 0))
    throw new ArgumentTypeError('columns must be a list of at least one name');
  if (where !== undefined && (typeof where !== 'string' || where.trim() === ''))
    throw new ArgumentTypeError('where must be a condition in SQL');
  return {
    table: requireIdentifier('table', options.table, maxNameBytes),
    id: requireIdentifier('id', options.id ?? SOURCE_DEFAULTS.id, maxNameBytes),
    columns: columns?.map((column) => requireIdentifier('columns', column, maxNameBytes)),
    where,
    queryTimeoutMs: requireDuration(
      'queryTimeoutMs',
      options.queryTimeoutMs ?? SOURCE_DEFAULTS.queryTimeoutMs,
      { min: 1, max: 3_600_000 },
    ),
    outbox: outbox === undefined ? undefined : requireIdentifier('outbox', outbox, maxNameBytes),
  };
}

/**
 * The query of a batch. Its first column is the id as text, the others are the row.
 *
 * @param from The table as an SQL identifier.
 * @param among The condition on the id. @param isByText Whether it compares the id as text.
 */
export function loadQuery(
  { columns, where }: SourceTable,
  {
    from,
    id,
    among,
    keyType,
    isByText = false,
  }: { from: string; id: string; among: string; keyType: string; isByText?: boolean },
): string {
  const key = `${from}.${quote(id)}`;
  const keyText = `cast(${key} as ${keyType})`;
  const selected = columns?.map((column) => `${from}.${quote(column)}`) ?? [`${from}.*`];
  // A comment at the end of the condition must not hide the bracket.
  const condition = where === undefined ? '' : ` and (${where}\n)`;
  return `select ${keyText}, ${selected.join(', ')} from ${from} where ${isByText ? keyText : key} ${among}${condition}`;
}
