/** The fields of a limit of requests. Without numbers the settings of the API decide. */
import type { JSX } from 'preact';

import { Field } from '../../ui/dialog.tsx';
import type { Limit } from './limit-text.ts';

type Fields = Readonly<Record<string, string>>;

export function LimitFields({ limit = null }: { readonly limit?: Limit }): JSX.Element {
  return (
    <div class="fields">
      <Field label="Requests at most" hint="empty: the default of the API">
        <input name="requests" type="number" min="1" defaultValue={limit?.requests} />
      </Field>
      <Field label="In seconds">
        <input name="seconds" type="number" min="1" defaultValue={limit?.seconds ?? MINUTE} />
      </Field>
    </div>
  );
}

const MINUTE = 60;

export function limitOf({ requests = '', seconds = '' }: Fields): Limit {
  return requests === '' ? null : { requests: Number(requests), seconds: Number(seconds || MINUTE) };
}
