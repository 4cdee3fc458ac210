import { ArgumentTypeError, requireDuration } from '@mortise/redis';
import { quote, requireIdentifier } from './identifier.js';

/** Which rows a source loads. */
export interface SourceOptions {
  /** The table, or a view. It is quoted: capitals and blanks are what they are. */
  readonly table: string;
  /** The column whose text is the id of a row; unique. Default `id`. */
  readonly id?: string;
  /** The columns that a row has. Default: all, as they are at each load. */
  readonly columns?: readonly string[];
  /**
   * A condition in SQL, such as `deleted_at is null`; rows that don't meet it count as gone. It is put into the query as it is: your own
   * text, never a user's.
   */
  readonly where?: string;
  /** The most that one query may take, in ms, up to 1 hour. Default 5,000. */
  readonly queryTimeoutMs?: number;
  /** The outbox of a `ChangeFeed`. Default: the name of the table and `_mortise_outbox`. */
  readonly outbox?: string;
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

export const SOURCE_DEFAULTS = { id: 'id', queryTimeoutMs: 5_000 };

export function resolveSourceOptions(options: SourceOptions, maxNameBytes: number): SourceTable {
  if (typeof options !== 'object' || options === null)
    throw new ArgumentTypeError('options must be an object');
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
 * @param from The table as it stands in SQL.
 * @param among The condition on the id, behind it. @param isByText Whether it is one on its text.
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
  // A comment at the end of the condition must not swallow the bracket.
  const condition = where === undefined ? '' : ` and (${where}\n)`;
  return `select ${keyText}, ${selected.join(', ')} from ${from} where ${isByText ? keyText : key} ${among}${condition}`;
}
