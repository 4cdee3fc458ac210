/** The files that some receiver is not done with. One is dropped for all receivers, or for one of them. */
import type { JSX } from 'preact';
import { Fragment } from 'preact';

import { call, path } from '../../http.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { Field } from '../../ui/dialog.tsx';
import type { Tone } from '../../ui/elements.tsx';
import { Card, Empty, Share, State, Time } from '../../ui/elements.tsx';
import { ACTIONS, Table } from '../../ui/table.tsx';
import { bytesText, countText, plural } from '../../ui/text.ts';
import type { ChannelStatus, File } from './status.ts';

const TONES: Readonly<Record<File['state'], Tone>> = { open: 'busy', closed: 'good', aborted: 'bad' };
/** Of the receivers of a file: the slowest ones. */
const MOST_SHOWN = 3;

interface Props {
  readonly status: ChannelStatus;
  readonly mayWrite: boolean;
  readonly done: () => void;
}

export function FilesCard({ status: { files, listed }, mayWrite, done }: Props): JSX.Element {
  return (
    <Card
      title={files.length < listed ? `The ${files.length} oldest of ${countText(listed)} files` : 'Files'}
    >
      {files.length === 0 ? (
        <Empty title="Nothing is left to receive.">
          <span>A file is here from its first byte until all receivers have acked its last one.</span>
        </Empty>
      ) : (
        <Table
          label="Files"
          rows={files}
          idOf={({ id }) => id}
          columns={[
            { title: 'File', cell: ({ name }) => <span class="wide">{name}</span> },
            {
              title: 'State',
              kind: 'fit',
              cell: ({ state, reason }) => (
                <span title={reason}>
                  <State tone={TONES[state]}>{state}</State>
                </span>
              ),
            },
            { title: 'Size', kind: 'number', cell: ({ bytes }) => bytesText(bytes) },
            { title: 'In Redis', kind: 'number', cell: ({ storedBytes }) => bytesText(storedBytes) },
            { title: 'Waits for', cell: Waits },
            { title: 'Listed', kind: 'fit', cell: ({ listedAt }) => <Time at={listedAt} /> },
            {
              ...ACTIONS,
              cell: (file) =>
                mayWrite && (
                  <span class="row">
                    <SkipButton file={file} done={done} />
                    <DropButton file={file} done={done} />
                  </span>
                ),
            },
          ]}
        />
      )}
    </Card>
  );
}

function Waits({ bytes, pending, slowest }: File): JSX.Element {
  const more = pending - Math.min(MOST_SHOWN, slowest.length);
  return (
    <span class="shares">
      {slowest.slice(0, MOST_SHOWN).map(({ receiver, ackedBytes }) => {
        const text = `${bytesText(ackedBytes)} of ${bytesText(bytes)}`;
        return (
          <Fragment key={receiver}>
            <span class="wide">{receiver}</span>
            <Share used={ackedBytes} of={bytes} label={`${receiver} has acked ${text}`} />
            <span class="muted small">{text}</span>
          </Fragment>
        );
      })}
      {more > 0 && <span class="rest muted small">and {plural(more, 'more receiver')}</span>}
      {pending === 0 && <span class="rest muted">its end</span>}
    </span>
  );
}

interface ActionProps {
  readonly file: File;
  readonly done: () => void;
}

function SkipButton({ file: { id, name, slowest }, done }: ActionProps): JSX.Element | null {
  if (slowest.length === 0) return null;
  return (
    <ActionButton
      label="Skip"
      title={`Skip ${name} for a receiver`}
      isDanger
      run={({ receiver }) => call('POST', path`files/${id}/acks`, { body: { receiver, isDone: true } })}
      told={({ receiver }) => `${receiver} is done with ${name}.`}
      done={done}
    >
      <p>The receiver never gets the remainder of the file. An active one has to be stopped first.</p>
      <Field label="Receiver">
        <select name="receiver" required>
          {slowest.map(({ receiver }) => (
            <option key={receiver}>{receiver}</option>
          ))}
        </select>
      </Field>
    </ActionButton>
  );
}

function DropButton({ file: { id, name, pending, storedBytes }, done }: ActionProps): JSX.Element {
  return (
    <ActionButton
      label="Drop"
      title={`Drop ${name}`}
      isDanger
      run={() => call('DELETE', path`files/${id}`)}
      told={`${name} is dropped.`}
      done={done}
    >
      <p>
        {plural(pending, 'receiver')} not done with it will not get the remainder. {bytesText(storedBytes)}{' '}
        are freed.
      </p>
    </ActionButton>
  );
}
