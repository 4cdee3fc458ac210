/** A table with links, a choice of rows, and the keys j, k, x and Enter. */
import type { ComponentChildren, JSX } from 'preact';
import { useRef } from 'preact/hooks';

export interface Column<Row> {
  readonly title: ComponentChildren;
  readonly cell: (row: Row) => ComponentChildren;
  readonly kind?: 'number' | 'fit';
}

/** Of the column with the buttons of a row: its title is for readers without eyes for the buttons. */
export const ACTIONS = { title: <span class="hidden-text">Actions</span>, kind: 'fit' } as const;

interface Selection {
  readonly ids: ReadonlySet<string>;
  readonly change: (ids: ReadonlySet<string>) => void;
}

interface Props<Row> {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
  readonly columns: readonly Column<Row>[];
  readonly selection?: Selection | undefined;
}

export function Table<Row>({ label, rows, idOf, columns, selection }: Props<Row>): JSX.Element {
  const body = useRef<HTMLTableSectionElement>(null);
  const toggle = (id: string): void => {
    if (!selection) return;
    const ids = new Set(selection.ids);
    if (!ids.delete(id)) ids.add(id);
    selection.change(ids);
  };
  const all = rows.length > 0 && rows.every((row) => selection?.ids.has(idOf(row)));
  return (
    // A table may be wider than a narrow screen: it scrolls by itself, also by keys.
    <div class="scroll" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {selection && (
              <th class="fit">
                <input
                  type="checkbox"
                  aria-label="Select all rows of this page"
                  checked={all}
                  onChange={() => selection.change(new Set(all ? [] : rows.map(idOf)))}
                />
              </th>
            )}
            {columns.map(({ title, kind }, index) => (
              <th key={index} class={kind} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body} onKeyDown={(event) => moveByKeys(event, body.current!, toggle)}>
          {rows.map((row) => {
            const id = idOf(row);
            const isSelected = selection?.ids.has(id);
            return (
              <tr key={id} data-id={id} aria-selected={isSelected}>
                {selection && (
                  <td class="fit">
                    <input
                      type="checkbox"
                      aria-label={`Select ${id}`}
                      checked={isSelected}
                      onChange={() => toggle(id)}
                    />
                  </td>
                )}
                {columns.map(({ cell, kind }, index) => (
                  <td key={index} class={kind}>
                    {cell(row)}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** j and k go to the link of the next and the previous row, x selects the row. */
function moveByKeys(event: KeyboardEvent, body: HTMLTableSectionElement, toggle: (id: string) => void): void {
  if (event.target instanceof HTMLInputElement && event.target.type !== 'checkbox') return;
  if (event.metaKey || event.ctrlKey || event.altKey) return;
  const row = (event.target as HTMLElement).closest('tr');
  if (!row) return;
  if (event.key === 'x') return toggle(row.dataset['id']!);
  const step = { j: 1, k: -1 }[event.key];
  if (step === undefined) return;
  const rows = [...body.rows];
  const next = rows[rows.indexOf(row) + step];
  next?.querySelector<HTMLElement>('a, button, input')?.focus();
  event.preventDefault();
}
