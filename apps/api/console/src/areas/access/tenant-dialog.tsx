/** A tenant that is made, or whose name, limit and quotas are changed. */
import type { JSX } from 'preact';

import { Dialog, Field } from '../../ui/dialog.tsx';
import { LimitFields, limitOf } from './limit-fields.tsx';
import type { Limit } from './limit-text.ts';

export interface Terms {
  readonly name: string;
  readonly limit: Limit;
  readonly quotas: Readonly<Record<string, number>>;
}

type Fields = Readonly<Record<string, string>>;

/** As the API names them. */
const QUOTAS = ['queues', 'tasks', 'streams', 'waits', 'keys', 'bytes'] as const;
const NONE: Terms = { name: '', limit: null, quotas: {} };

interface Props {
  readonly title: string;
  readonly submit: string;
  /** Of one that is there: its id stays. */
  readonly terms?: Terms;
  readonly close: () => void;
  readonly store: (id: string, terms: Terms) => Promise<boolean>;
}

export function TenantDialog({ title, submit, terms, close, store }: Props): JSX.Element {
  const { name, limit, quotas } = terms ?? NONE;
  return (
    <Dialog
      title={title}
      submit={submit}
      close={close}
      onSubmit={(fields) => store(fields['id'] ?? '', termsOf(fields))}
    >
      <div class="fields">
        {terms === undefined && (
          <Field label="Id" hint="a-z, 0-9 and -">
            <input name="id" required pattern="[a-z0-9\-]{1,32}" autocomplete="off" />
          </Field>
        )}
        <Field label="Name">
          <input name="name" autocomplete="off" defaultValue={name} />
        </Field>
      </div>
      <LimitFields limit={limit} />
      <p class="muted small">Quotas: how much it may have. Empty: no quota.</p>
      <div class="fields">
        {QUOTAS.map((quota) => (
          <Field key={quota} label={`${quota[0]!.toUpperCase()}${quota.slice(1)} at most`}>
            <input name={quota} type="number" min="0" defaultValue={quotas[quota]} />
          </Field>
        ))}
      </div>
    </Dialog>
  );
}

function termsOf(fields: Fields): Terms {
  const given = QUOTAS.filter((quota) => (fields[quota] ?? '') !== '');
  return {
    name: fields['name'] ?? '',
    limit: limitOf(fields),
    quotas: Object.fromEntries(given.map((quota) => [quota, Number(fields[quota])])),
  };
}
