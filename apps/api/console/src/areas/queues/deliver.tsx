/** Delivers an event to a task that waits for it. */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';

import { call, path } from '../../http.ts';
import { Dialog, DialogButton, Field } from '../../ui/dialog.tsx';
import { newId } from '../../ui/new-id.ts';
import { payloadOf } from '../../ui/payload.ts';
import { act } from '../../ui/toasts.tsx';

interface Props {
  readonly queue: string;
  readonly task: string;
  /** Its name. */
  readonly event: string;
  readonly done: () => void;
}

export function DeliverButton({ queue, task, event, done }: Props): JSX.Element {
  const deliver = async (text: string, id: string): Promise<boolean> => {
    const written = payloadOf(text);
    if (!written) return false;
    const body = { event, payload: written.value, id };
    const isDone = await act('The event is delivered.', () =>
      call('POST', path`queues/${queue}/tasks/${task}/events`, { body }),
    );
    done();
    return isDone;
  };
  return (
    <DialogButton label="Deliver event">
      {(close) => <DeliverDialog event={event} close={close} deliver={deliver} />}
    </DialogButton>
  );
}

function DeliverDialog(props: {
  readonly event: string;
  readonly close: () => void;
  readonly deliver: (text: string, id: string) => Promise<boolean>;
}): JSX.Element {
  const { event, close, deliver } = props;
  // One for the dialog: sent again after a lost answer, it is the same event.
  const id = useMemo(newId, []);
  return (
    <Dialog
      title={`Deliver event: ${event}`}
      submit="Deliver"
      close={close}
      onSubmit={({ payload = '' }) => deliver(payload, id)}
    >
      <p class="wide">
        The task goes on, and gets the payload as the result of its wait for <code>{event}</code>.
      </p>
      <Field label="Payload" hint="JSON">
        <textarea name="payload" required spellcheck={false} defaultValue="{}" />
      </Field>
    </Dialog>
  );
}
