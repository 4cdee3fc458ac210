/** Deletes the oldest messages of a chat or a mailbox, whether they were read or not. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

import { Dialog, DialogButton, Field } from '../../ui/dialog.tsx';
import { countText, plural } from '../../ui/text.ts';
import { act } from '../../ui/toasts.tsx';

interface Props {
  readonly name: string;
  /** Messages that are stored. */
  readonly stored: number;
  /** The id of the newest message that this page knows: later ones stay. */
  readonly lastId: number;
  /** What becomes of those who had not read them. */
  readonly effect: string;
  readonly trim: (upToId: number) => Promise<unknown>;
  readonly done: () => void;
}

export function TrimButton(props: Props): JSX.Element {
  return (
    <DialogButton label="Trim" isDanger isDisabled={props.stored === 0}>
      {(close) => <TrimDialog {...props} close={close} />}
    </DialogButton>
  );
}

function TrimDialog({
  name,
  effect,
  trim,
  done,
  close,
  ...now
}: Props & { readonly close: () => void }): JSX.Element {
  // What arrives meanwhile changes neither the count nor what is deleted.
  const [{ stored, lastId }] = useState(now);
  const [keep, setKeep] = useState(0);
  const deleted = Math.max(0, stored - keep);
  const submit = async (): Promise<boolean> => {
    const isDone = await act(`${plural(deleted, 'message')} deleted.`, () => trim(lastId - keep));
    done();
    return isDone;
  };
  return (
    <Dialog
      title={`Trim ${name}`}
      submit={`Delete ${plural(deleted, 'message')}`}
      isDanger
      isWaiting={deleted === 0}
      close={close}
      onSubmit={submit}
    >
      <p>
        {deleted === stored ? 'All' : `The oldest ${countText(deleted)} of`}{' '}
        {plural(stored, 'stored message')} will be deleted. {effect}
      </p>
      <Field label="Keep the newest" hint="0: none of the messages of now">
        <input
          type="number"
          min="0"
          max={stored}
          required
          value={keep}
          onInput={(event) => setKeep(Math.max(0, Math.floor(Number(event.currentTarget.value))))}
        />
      </Field>
    </Dialog>
  );
}
