/** Who may call the API: keys, tenants, and what was changed by whom. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

import type { AreaProps } from '../../areas.ts';
import { call, path } from '../../http.ts';
import { hrefOf } from '../../location.ts';
import { mayChange } from '../../session.ts';
import { Dialog, DialogButton, Field } from '../../ui/dialog.tsx';
import { usePages } from '../../ui/pages.ts';
import { PagedTable, TableOf } from '../../ui/paged-table.tsx';
import type { Tone } from '../../ui/elements.tsx';
import { Head, State, Tabs, Time } from '../../ui/elements.tsx';
import { bytesText, countText, instantText } from '../../ui/text.ts';
import { act } from '../../ui/toasts.tsx';

interface Limit {
  readonly requests: number;
  readonly seconds: number;
}

interface Key {
  readonly id: string;
  readonly tenant: string;
  readonly name: string;
  readonly subject: string | null;
  readonly scopes: readonly string[];
  readonly limit: Limit | null;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
}

interface Tenant {
  readonly id: string;
  readonly name: string;
  readonly limit: Limit | null;
  readonly quotas: Readonly<Record<string, number>>;
  readonly keys: number;
  readonly usage: { readonly keys: number; readonly bytes?: number } | null;
}

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

const TABS = ['keys', 'tenants', 'audit'] as const;
const TITLES = { keys: 'API keys', tenants: 'Tenants', audit: 'Audit log' } as const;

export default function Access({ parts: [given], session }: AreaProps): JSX.Element {
  const tab = TABS.find((each) => each === given) ?? 'keys';
  return (
    <>
      <Head title="Access" />
      <Tabs
        label="Parts of the access"
        current={tab}
        tabs={TABS.map((key) => ({ key, href: hrefOf(['access', key]), title: TITLES[key] }))}
      />
      {tab === 'keys' && <Keys mayWrite={mayChange(session, 'tenants:admin')} />}
      {tab === 'tenants' && <Tenants />}
      {tab === 'audit' && <AuditLog />}
    </>
  );
}

function limitText(limit: Limit | null): string {
  return limit === null ? 'the default' : `${countText(limit.requests)} in ${limit.seconds} s`;
}

function Keys({ mayWrite }: { readonly mayWrite: boolean }): JSX.Element {
  const keys = usePages<Key>('admin/keys');
  const [shown, setMade] = useState<{ readonly id: string; readonly key: string }>();
  const revoke = async (id: string): Promise<boolean> => {
    const isDone = await act(`${id} is revoked.`, () => call('DELETE', path`admin/keys/${id}`));
    keys.reload();
    return isDone;
  };
  const make = async ({
    id = '',
    name = '',
    scopes = '',
  }: Readonly<Record<string, string>>): Promise<boolean> => {
    const wanted = scopes.split(/[\s,]+/).filter((scope) => scope !== '');
    const isDone = await act(`${id} is made.`, async () => {
      const body = { scopes: wanted, ...(name !== '' && { name }) };
      const made = await call<{ key?: string }>('PUT', path`admin/keys/${id}`, { body });
      if (made.key !== undefined) setMade({ id, key: made.key });
    });
    keys.reload();
    return isDone;
  };
  return (
    <div class="stack">
      {mayWrite && (
        <div class="row">
          <DialogButton label="Make a key">
            {(close) => (
              <Dialog title="Make an API key" submit="Make" close={close} onSubmit={make}>
                <div class="fields">
                  <Field label="Id" hint="letters, digits and -">
                    <input name="id" required pattern="[A-Za-z0-9\-]{1,32}" />
                  </Field>
                  <Field label="Name">
                    <input name="name" />
                  </Field>
                </div>
                <Field label="Scopes" hint="with blanks between them">
                  <textarea name="scopes" required defaultValue="queues:read" />
                </Field>
              </Dialog>
            )}
          </DialogButton>
        </div>
      )}
      {shown && (
        <p class="card" role="status">
          <span>
            The key of {shown.id}. It is shown only now: <code class="wide">{shown.key}</code>
          </span>
        </p>
      )}
      <TableOf
        pages={keys}
        label="API keys"
        idOf={({ id }) => id}
        empty="No key was made here."
        hint={<span>The key of ADMIN_KEY is not in this list.</span>}
        columns={[
          { title: 'Id', cell: ({ id }) => <code>{id}</code> },
          { title: 'Name', cell: ({ name }) => <span class="wide">{name}</span> },
          { title: 'Tenant', cell: ({ tenant }) => tenant },
          { title: 'Acts for', cell: ({ subject }) => subject ?? 'everybody' },
          { title: 'Scopes', cell: ({ scopes }) => <span class="wide">{scopes.join(' ')}</span> },
          { title: 'Limit', cell: ({ limit }) => limitText(limit) },
          { title: 'Last used', kind: 'fit', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
          {
            title: <span class="hidden-text">Actions</span>,
            kind: 'fit',
            cell: ({ id }) =>
              mayWrite && (
                <DialogButton label="Revoke" isDanger>
                  {(close) => (
                    <Dialog
                      title={`Revoke ${id}`}
                      submit="Revoke"
                      isDanger
                      close={close}
                      onSubmit={() => revoke(id)}
                    >
                      <p>Its requests are refused within a second, and its streams end.</p>
                    </Dialog>
                  )}
                </DialogButton>
              ),
          },
        ]}
      />
    </div>
  );
}

function Tenants(): JSX.Element {
  return (
    <PagedTable<Tenant>
      address="admin/tenants"
      label="Tenants"
      idOf={({ id }) => id}
      empty="There is no tenant but the default one."
      columns={[
        { title: 'Id', cell: ({ id }) => <code>{id}</code> },
        { title: 'Name', cell: ({ name }) => <span class="wide">{name}</span> },
        { title: 'Limit', cell: ({ limit }) => limitText(limit) },
        {
          title: 'Quotas',
          cell: ({ quotas }) => (
            <span class="wide">
              {Object.entries(quotas)
                .map(([kind, most]) => `${countText(most)} ${kind}`)
                .join(', ') || 'none'}
            </span>
          ),
        },
        {
          title: 'Used',
          cell: ({ usage }) =>
            usage === null
              ? '–'
              : [`${countText(usage.keys)} keys`, usage.bytes !== undefined && bytesText(usage.bytes)]
                  .filter(Boolean)
                  .join(', '),
        },
        { title: 'API keys', kind: 'number', cell: ({ keys }) => countText(keys) },
      ]}
    />
  );
}

const FIRST_REFUSAL = 400;

function toneOf(status: number): Tone {
  return status < FIRST_REFUSAL ? 'good' : 'bad';
}

function AuditLog(): JSX.Element {
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
