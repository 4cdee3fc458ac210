/** API keys: a key is made, gets a new secret, or is revoked. The page shows a secret once, and keeps none. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

import { call, path } from '../../http.ts';
import { Dialog, DialogButton, Field } from '../../ui/dialog.tsx';
import { Time } from '../../ui/elements.tsx';
import { usePages } from '../../ui/pages.ts';
import { TableOf } from '../../ui/paged-table.tsx';
import { ACTIONS } from '../../ui/table.tsx';
import { act } from '../../ui/toasts.tsx';
import { LimitFields, limitOf } from './limit-fields.tsx';
import type { Limit } from './limit-text.ts';
import { limitText } from './limit-text.ts';
import { putNew } from './put-new.ts';

interface Key {
  readonly id: string;
  readonly tenant: string;
  readonly name: string;
  readonly subject: string | null;
  readonly scopes: readonly string[];
  readonly limit: Limit;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
}

interface Made {
  readonly id: string;
  readonly key: string;
}

type Fields = Readonly<Record<string, string>>;

/** @param revoked The id of a key whose secret is shown no more. */
type Done = (text: string, action: () => Promise<Made | undefined>, revoked?: string) => Promise<boolean>;

const HOUR_MS = 3_600_000;

export function Keys({ mayWrite }: { readonly mayWrite: boolean }): JSX.Element {
  const keys = usePages<Key>('admin/keys');
  const [shown, setShown] = useState<Made>();
  const done: Done = async (text, action, revoked) => {
    const isDone = await act(text, async () => {
      const made = await action();
      setShown((before) => made ?? (before?.id === revoked ? undefined : before));
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
              <KeyDialog
                close={close}
                store={(fields) => done(`${fields['id']} is made.`, () => make(fields))}
              />
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
          { title: 'Limit', kind: 'fit', cell: ({ limit }) => limitText(limit) },
          { title: 'Last used', kind: 'fit', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
          {
            ...ACTIONS,
            cell: (key) => mayWrite && <KeyActions shown={key} done={done} />,
          },
        ]}
      />
    </div>
  );
}

interface KeyDialogProps {
  /** A key that is there: its id and tenant stay. */
  readonly shown?: Key;
  readonly close: () => void;
  readonly store: (fields: Fields) => Promise<boolean>;
}

function KeyDialog({ shown, close, store }: KeyDialogProps): JSX.Element {
  const title = shown ? `Change ${shown.id}` : 'Make an API key';
  return (
    <Dialog title={title} submit={shown ? 'Store' : 'Make'} close={close} onSubmit={store}>
      <div class="fields">
        {!shown && (
          <Field label="Id" hint="letters, digits and -">
            <input name="id" required pattern="[A-Za-z0-9\-]{1,32}" />
          </Field>
        )}
        <Field label="Name">
          <input name="name" defaultValue={shown?.name} />
        </Field>
        {!shown && (
          <Field label="Tenant" hint="empty: the default one">
            <input name="tenant" />
          </Field>
        )}
        <Field label="Acts for" hint="empty: everybody">
          <input name="subject" defaultValue={shown?.subject ?? ''} />
        </Field>
      </div>
      <Field label="Scopes" hint="with blanks between them">
        <textarea name="scopes" required defaultValue={shown?.scopes.join(' ') ?? 'queues:read'} />
      </Field>
      <LimitFields limit={shown?.limit ?? null} />
    </Dialog>
  );
}

function bodyOf(fields: Fields): object {
  const { name = '', subject = '', scopes = '' } = fields;
  return {
    name,
    subject: subject === '' ? null : subject,
    scopes: scopes.split(/[\s,]+/).filter((scope) => scope !== ''),
    limit: limitOf(fields),
  };
}

async function make(fields: Fields): Promise<Made | undefined> {
  const { id = '', tenant = '' } = fields;
  const body = { ...bodyOf(fields), ...(tenant !== '' && { tenant }) };
  const { key } = await putNew<{ readonly key?: string }>(path`admin/keys/${id}`, `a key ${id}`, body);
  return key === undefined ? undefined : { id, key };
}

interface ActionProps {
  readonly shown: Key;
  readonly done: Done;
}

function KeyActions({ shown, done }: ActionProps): JSX.Element {
  const { id, tenant } = shown;
  const change = async (fields: Fields): Promise<undefined> => {
    await call('PUT', path`admin/keys/${id}`, { body: { ...bodyOf(fields), tenant } });
  };
  const rotate = async ({ hours = '' }: Fields): Promise<Made> => {
    const body = { overlapMs: Math.round(Number(hours) * HOUR_MS) };
    return { id, ...(await call<{ readonly key: string }>('POST', path`admin/keys/${id}/rotate`, { body })) };
  };
  const revoke = async (): Promise<undefined> => {
    await call('DELETE', path`admin/keys/${id}`);
  };
  return (
    <span class="row">
      <DialogButton label="Change">
        {(close) => (
          <KeyDialog
            shown={shown}
            close={close}
            store={(fields) => done(`${id} is changed.`, () => change(fields))}
          />
        )}
      </DialogButton>
      <DialogButton label="Rotate">
        {(close) => (
          <Dialog
            title={`A new secret for ${id}`}
            submit="Rotate"
            close={close}
            onSubmit={(fields) => done(`${id} has a new secret.`, () => rotate(fields))}
          >
            <Field label="Overlap" hint="hours in which the secret of now stays valid">
              <input name="hours" type="number" min="0" max="720" step="any" required defaultValue="24" />
            </Field>
          </Dialog>
        )}
      </DialogButton>
      <DialogButton label="Revoke" isDanger>
        {(close) => (
          <Dialog
            title={`Revoke ${id}`}
            submit="Revoke"
            isDanger
            close={close}
            onSubmit={() => done(`${id} is revoked.`, revoke, id)}
          >
            <p>Its requests are refused within a second, and its streams end.</p>
          </Dialog>
        )}
      </DialogButton>
    </span>
  );
}
