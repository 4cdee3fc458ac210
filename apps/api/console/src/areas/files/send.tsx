/** Sends a file from this machine to all receivers of a channel: the way to offer one again. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

import { call, path, withQuery } from '../../http.ts';
import { Dialog, DialogButton, Field } from '../../ui/dialog.tsx';
import { plural } from '../../ui/text.ts';
import { act } from '../../ui/toasts.tsx';
import type { ChannelStatus } from './status.ts';

interface Props {
  readonly channel: string;
  readonly status: ChannelStatus;
  readonly done: () => void;
}

export function SendButton(props: Props): JSX.Element {
  return (
    <DialogButton label="Send a file" isDisabled={props.status.receivers.length === 0}>
      {(close) => <SendDialog {...props} close={close} />}
    </DialogButton>
  );
}

function SendDialog(props: Props & { readonly close: () => void }): JSX.Element {
  const { channel, status, done, close } = props;
  const [file, setFile] = useState<globalThis.File>();
  const [name, setName] = useState('');
  const send = async (): Promise<boolean> => {
    const address = withQuery(path`file-channels/${channel}/files`, { name });
    const isDone = await act(`${name} is sent.`, () => call('POST', address, { file: file! }));
    done();
    return isDone;
  };
  return (
    <Dialog title={`Send a file to ${channel}`} submit="Send" close={close} onSubmit={send}>
      <p>
        {plural(status.receivers.length, 'receiver')} will get it. The dialog waits while they are too far
        behind.
      </p>
      <Field label="File">
        <input
          type="file"
          required
          onChange={({ currentTarget: { files } }) => {
            setFile(files?.[0]);
            setName(files?.[0]?.name ?? '');
          }}
        />
      </Field>
      <Field label="Name for the receivers">
        <input required value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </Field>
    </Dialog>
  );
}
