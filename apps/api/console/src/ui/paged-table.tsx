/** A table of a list that the API gives by pages. */
import type { ComponentChildren, JSX } from 'preact';

import { usePages } from './pages.ts';
import type { Pages } from './pages.ts';
import { Empty, Skeleton, Trouble } from './elements.tsx';
import type { Column } from './table.tsx';
import { Table } from './table.tsx';

interface Props<Row> {
  readonly label: string;
  readonly idOf: (row: Row) => string;
  readonly columns: readonly Column<Row>[];
  /** What an empty list says. */
  readonly empty: string;
  readonly hint?: ComponentChildren;
}

/** Reads the pages itself. */
export function PagedTable<Row>({
  address,
  ...props
}: Props<Row> & { readonly address: string }): JSX.Element {
  return <TableOf {...props} pages={usePages<Row>(address)} />;
}

export function TableOf<Row>(props: Props<Row> & { readonly pages: Pages<Row> }): JSX.Element {
  const { pages, label, idOf, columns, empty, hint } = props;
  const { items, error, more } = pages;
  return (
    <div class="stack">
      {error && <Trouble error={error} />}
      {items === undefined && !error && <Skeleton />}
      {items?.length === 0 && !more && <Empty title={empty}>{hint}</Empty>}
      {items && items.length > 0 && <Table label={label} rows={items} idOf={idOf} columns={columns} />}
      {more && (
        <div class="row">
          <button type="button" onClick={more}>
            More
          </button>
        </div>
      )}
    </div>
  );
}
