/** A button whose dialog asks before it acts. */
import type { ComponentChildren, JSX } from 'preact';

import { Dialog, DialogButton } from './dialog.tsx';
import { act } from './toasts.tsx';

type Fields = Readonly<Record<string, string>>;

interface Props {
  readonly label: string;
  /** Of the dialog. */
  readonly title: string;
  /** Of its button. Default: the label. */
  readonly submit?: string;
  readonly isDanger?: boolean;
  /** Gets the fields of the dialog by their names. */
  readonly run: (fields: Fields) => Promise<unknown>;
  /** What the page says afterwards. */
  readonly told: string | ((fields: Fields) => string);
  /** Called after success and failure. */
  readonly done: () => void;
  /** What it does, and its fields. */
  readonly children: ComponentChildren;
}

export function ActionButton(props: Props): JSX.Element {
  const { label, title, submit = label, isDanger = false, run, told, done, children } = props;
  const onSubmit = async (fields: Fields): Promise<boolean> => {
    const isDone = await act(typeof told === 'string' ? told : told(fields), () => run(fields));
    done();
    return isDone;
  };
  return (
    <DialogButton label={label} isDanger={isDanger}>
      {(close) => <Dialog {...{ title, submit, isDanger, close, onSubmit }}>{children}</Dialog>}
    </DialogButton>
  );
}
