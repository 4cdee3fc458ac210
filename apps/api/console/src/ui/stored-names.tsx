/** The names that are stored of a kind, for sessions that may list them. */
import type { ComponentChildren, JSX } from 'preact';

import { hrefOf, Link } from '../location.ts';
import type { Session } from '../session.ts';
import { mayDo } from '../session.ts';
import { PagedTable } from './paged-table.tsx';

interface Props {
  /** As the API has it. */
  readonly kind: string;
  readonly title: string;
  /** The first parts of the address of each. */
  readonly parts: readonly string[];
  readonly empty: string;
  /** What to do about it. */
  readonly hint: ComponentChildren;
  readonly session: Session;
}

export function StoredNames({ kind, title, parts, empty, hint, session }: Props): JSX.Element {
  if (!mayDo(session, 'ops:read'))
    return <p class="muted">The list of all names needs the scope ops:read.</p>;
  return (
    <PagedTable<{ readonly name: string }>
      address={`names/${kind}`}
      topic={`names:${kind}`}
      label={title}
      idOf={({ name }) => name}
      empty={empty}
      hint={hint}
      columns={[
        {
          title,
          cell: ({ name }) => (
            <Link class="wide" href={hrefOf([...parts, name])}>
              {name}
            </Link>
          ),
        },
      ]}
    />
  );
}
