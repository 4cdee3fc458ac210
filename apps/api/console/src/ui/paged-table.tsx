/** A table of a list that the API gives by pages. */
import type { ComponentChildren, JSX } from 'preact';

import { useCallback } from 'preact/hooks';

import type { LiveEvent } from '../live.ts';
import { useTopic } from '../live.ts';
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

/** The first page is as its topic gives it. Undefined: there is none. */
export function useLivePages<Row>(address: string | undefined, topic: string | undefined): Pages<Row> {
  const pages = usePages<Row>(address);
  const { take, leave, refresh } = pages;
  const onEvent = useCallback(
    (event: LiveEvent) => {
      // A scan that took long gives a part: the pages go on after it.
      if (event['isWhole'] === true) take(event['items'] as readonly Row[]);
      else leave();
    },
    [take, leave],
  );
  useTopic(topic, onEvent, refresh);
  return pages;
}

/** Reads the pages itself. */
export function PagedTable<Row>({
  address,
  topic,
  ...props
}: Props<Row> & { readonly address: string; readonly topic?: string }): JSX.Element {
  const pages = useLivePages<Row>(address, topic);
  return <TableOf {...props} pages={pages} {...(topic === undefined && { again: pages.reload })} />;
}

interface TableOfProps<Row> extends Props<Row> {
  readonly pages: Pages<Row>;
  /** For a list that does not follow its changes, and has no such button elsewhere. */
  readonly again?: () => void;
}

export function TableOf<Row>(props: TableOfProps<Row>): JSX.Element {
  const { pages, label, idOf, columns, empty, hint, again } = props;
  const { items, error, more } = pages;
  return (
    <div class="stack">
      {error && <Trouble error={error} />}
      {items === undefined && !error && <Skeleton />}
      {items?.length === 0 && !more && <Empty title={empty}>{hint}</Empty>}
      {items && items.length > 0 && <Table label={label} rows={items} idOf={idOf} columns={columns} />}
      {(more ?? again) && (
        <div class="row">
          {more && (
            <button type="button" onClick={more}>
              More
            </button>
          )}
          {again && (
            <button class="plain" type="button" onClick={again}>
              Read again
            </button>
          )}
        </div>
      )}
    </div>
  );
}
