/** The audit log: what was changed, by whom, and how that was answered. */
import type { JSX } from 'preact';

import { PagedTable } from '../../ui/paged-table.tsx';
import type { Tone } from '../../ui/elements.tsx';
import { State } from '../../ui/elements.tsx';
import { instantText } from '../../ui/text.ts';

interface Entry {
  readonly at: number;
  readonly keyId: string | null;
  readonly tenant: string;
  readonly subject: string | null;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly requestId: string;
}

const FIRST_REFUSAL = 400;

function toneOf(status: number): Tone {
  return status < FIRST_REFUSAL ? 'good' : 'bad';
}

export function AuditLog(): JSX.Element {
  return (
    <PagedTable<Entry>
      address="admin/audit"
      label="Audit log"
      idOf={({ requestId, at }) => `${at} ${requestId}`}
      empty="Nothing was changed yet."
      columns={[
        { title: 'Time', kind: 'fit', cell: ({ at }) => instantText(at) },
        { title: 'Who', cell: ({ subject, keyId }) => subject ?? keyId ?? 'a token' },
        { title: 'Tenant', cell: ({ tenant }) => tenant },
        {
          title: 'What',
          cell: (entry) => (
            <code class="wide">
              {entry.method} {entry.path}
            </code>
          ),
        },
        { title: 'Answer', kind: 'fit', cell: ({ status }) => <State tone={toneOf(status)}>{status}</State> },
        { title: 'Request', cell: ({ requestId }) => <code class="wide">{requestId}</code> },
      ]}
    />
  );
}
