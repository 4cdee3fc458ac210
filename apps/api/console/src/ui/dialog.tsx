/** Dialogs of the browser, with a form in each. */
import type { ComponentChildren, JSX, TargetedSubmitEvent } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

import { hear, tell } from './toasts.tsx';

interface Props {
  readonly title: string;
  readonly submit: string;
  readonly isDanger?: boolean;
  /** Before it is known what the dialog would do. */
  readonly isWaiting?: boolean;
  readonly children?: ComponentChildren;
  readonly close: () => void;
  /** Resolves to whether the dialog closes. Gets the fields of the form by their names. */
  readonly onSubmit: (fields: Readonly<Record<string, string>>) => Promise<boolean>;
}

export function Dialog({
  title,
  submit,
  isDanger,
  isWaiting,
  children,
  close,
  onSubmit,
}: Props): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isBusy, setIsBusy] = useState(false);
  const [trouble, setTrouble] = useState('');
  useEffect(() => dialog.current!.showModal(), []);
  const send = async (event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const fields = Object.fromEntries(new FormData(event.currentTarget).entries()) as Record<string, string>;
    setIsBusy(true);
    setTrouble('');
    const heard = await hear(() => onSubmit(fields));
    setIsBusy(false);
    if (!heard.isDone) return setTrouble(heard.trouble);
    if (heard.trouble !== '') tell(heard.trouble, 'bad');
    close();
  };
  return (
    <dialog ref={dialog} aria-label={title} onClose={close}>
      <form onSubmit={(event) => void send(event)}>
        <h2>{title}</h2>
        {children}
        {trouble !== '' && (
          <p class="problem" role="alert">
            {trouble}
          </p>
        )}
        <div class="actions">
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button class={isDanger ? 'danger' : 'primary'} type="submit" disabled={isBusy || isWaiting}>
            {submit}
          </button>
        </div>
      </form>
    </dialog>
  );
}

export function Field(props: {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <label class="field">
      <span>{props.label}</span>
      {props.children}
      {props.hint !== undefined && <small>{props.hint}</small>}
    </label>
  );
}

/** A button that opens a dialog. The dialog gets `close`. */
export function DialogButton(props: {
  readonly label: ComponentChildren;
  readonly isDanger?: boolean;
  readonly isDisabled?: boolean | undefined;
  readonly children: (close: () => void) => ComponentChildren;
}): JSX.Element {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        class={props.isDanger ? 'danger' : undefined}
        disabled={props.isDisabled}
        onClick={() => setIsOpen(true)}
      >
        {props.label}
      </button>
      {isOpen && props.children(() => setIsOpen(false))}
    </>
  );
}
