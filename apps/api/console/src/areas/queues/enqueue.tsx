/** Enqueues a task: a new one, or one like another with its payload edited. */
import type { JSX } from 'preact';

import { call, path } from '../../http.ts';
import { go, hrefOf } from '../../location.ts';
import { Dialog, DialogButton, Field } from '../../ui/dialog.tsx';
import { payloadOf } from '../../ui/payload.ts';
import { act } from '../../ui/toasts.tsx';
import { jsonText } from '../../ui/text.ts';

interface Draft {
  readonly queue?: string;
  readonly name?: string;
  readonly payload?: unknown;
  readonly priority?: string;
}

export function EnqueueButton({
  draft = {},
  label = 'Enqueue a task',
}: {
  readonly draft?: Draft;
  readonly label?: string;
}): JSX.Element {
  return (
    <DialogButton label={label}>
      {(close) => (
        <Dialog title={label} submit="Enqueue" close={close} onSubmit={enqueue}>
          <div class="fields">
            <Field label="Queue">
              <input name="queue" required defaultValue={draft.queue ?? ''} />
            </Field>
            <Field label="Name" hint="decides which handler runs it">
              <input name="name" required defaultValue={draft.name ?? ''} />
            </Field>
          </div>
          <Field label="Payload" hint="JSON">
            <textarea
              name="payload"
              required
              spellcheck={false}
              defaultValue={jsonText(draft.payload ?? {})}
            />
          </Field>
          <div class="fields">
            <Field label="Delay" hint="seconds">
              <input name="delay" type="number" min="0" step="any" placeholder="0" />
            </Field>
            <Field label="Priority" hint="empty: that of the queue">
              <input name="priority" defaultValue={draft.priority ?? ''} />
            </Field>
          </div>
        </Dialog>
      )}
    </DialogButton>
  );
}

const SECOND_MS = 1_000;

async function enqueue(fields: Readonly<Record<string, string>>): Promise<boolean> {
  const { queue = '', name, payload = '', delay = '', priority = '' } = fields;
  const written = payloadOf(payload);
  if (!written) return false;
  const body = {
    name,
    payload: written.value,
    ...(delay !== '' && { delayMs: Math.round(Number(delay) * SECOND_MS) }),
    ...(priority !== '' && { priority }),
  };
  return act('The task is enqueued.', async () => {
    const { id } = await call<{ id: string }>('POST', path`queues/${queue}/tasks`, { body });
    go(hrefOf(['queues', queue, 'tasks', id]));
  });
}
