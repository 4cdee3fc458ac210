/** The parts of a `RowCache` that refreshers and change feeds use, hidden from its public type. */
import { ArgumentTypeError } from '@mortise/redis';
import type { TableKeys } from './keys.js';
import type { TableOptions } from './options.js';
import type { RowCodec } from './row-codec.js';

export interface RefreshedTable {
  readonly keys: TableKeys;
  readonly options: TableOptions<unknown>;
  readonly codec: RowCodec<unknown>;
}

/** On the object itself, so that a refresher takes rows of another copy of the package. */
const TABLE = Symbol.for('@mortise/cache:table');

export function setTable(rows: object, table: RefreshedTable): void {
  Object.defineProperty(rows, TABLE, { value: table });
}

/** Throws TypeError for anything but a `RowCache`. */
export function tableOf(rows: object): RefreshedTable {
  const table = (rows as { readonly [TABLE]?: RefreshedTable } | undefined)?.[TABLE];
  if (!table) throw new ArgumentTypeError('rows must be RowCache objects');
  return table;
}
