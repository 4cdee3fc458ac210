/** The receivers of a channel with what waits for each. A straggler keeps files that all others are done with. */
import type { JSX } from 'preact';

import { call, path } from '../../http.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { Field } from '../../ui/dialog.tsx';
import { Card, Empty, State } from '../../ui/elements.tsx';
import { NextStep } from '../../ui/next-step.tsx';
import { ACTIONS, Table } from '../../ui/table.tsx';
import { bytesText, countText, plural } from '../../ui/text.ts';
import type { ChannelStatus, Left } from './status.ts';
import { isWhole, leftOf } from './status.ts';

interface Props {
  readonly channel: string;
  readonly status: ChannelStatus;
  readonly mayWrite: boolean;
  readonly done: () => void;
}

export function ReceiversCard({ channel, status, mayWrite, done }: Props): JSX.Element {
  const least = isWhole(status) ? '' : 'at least ';
  return (
    <Card
      title="Receivers"
      actions={mayWrite && !status.isEnded && <AddButton channel={channel} done={done} />}
    >
      {status.receivers.length === 0 ? (
        <Empty title="The channel has no receiver.">
          <NextStep
            code={`new FileSender(redis, '${channel}', { receivers: ['worker-1'] })`}
            guide="messaging/files"
          >
            A sender names the receivers of its channel.
          </NextStep>
        </Empty>
      ) : (
        <Table
          label="Receivers"
          rows={status.receivers.map((each) => ({ ...each, left: leftOf(status, each.receiver) }))}
          idOf={({ receiver }) => receiver}
          columns={[
            {
              title: 'Receiver',
              cell: ({ receiver, left }) => (
                <span class="row">
                  <span class="wide">{receiver}</span>
                  {left.alone > 0 && status.receivers.length > 1 && <State tone="wait">straggler</State>}
                </span>
              ),
            },
            {
              title: 'State',
              kind: 'fit',
              cell: ({ isActive }) => (
                <State tone={isActive ? 'good' : 'quiet'}>{isActive ? 'active' : 'away'}</State>
              ),
            },
            { title: 'Files left', kind: 'number', cell: ({ left }) => least + countText(left.files) },
            { title: 'Bytes left', kind: 'number', cell: ({ left }) => least + bytesText(left.bytes) },
            {
              title: 'Wait for it alone',
              kind: 'number',
              cell: ({ left }) => least + plural(left.alone, 'file'),
            },
            {
              ...ACTIONS,
              cell: ({ receiver, left }) =>
                mayWrite && <RemoveButton {...{ channel, receiver, left, least, done }} />,
            },
          ]}
        />
      )}
    </Card>
  );
}

type ActionProps = Pick<Props, 'channel' | 'done'>;

function AddButton({ channel, done }: ActionProps): JSX.Element {
  return (
    <ActionButton
      label="Add"
      title={`Add a receiver to ${channel}`}
      run={({ receiver = '' }) => call('PUT', path`file-channels/${channel}/receivers/${receiver}`)}
      told={({ receiver }) => `${receiver} is a receiver.`}
      done={done}
    >
      <Field label="Name" hint="gets the files that are sent from now on; senders name it too">
        <input name="receiver" required autocomplete="off" />
      </Field>
    </ActionButton>
  );
}

interface RemoveProps extends ActionProps {
  readonly receiver: string;
  readonly left: Left;
  readonly least: string;
}

function RemoveButton({ channel, receiver, left, least, done }: RemoveProps): JSX.Element {
  return (
    <ActionButton
      label="Remove"
      title={`Remove ${receiver} from ${channel}`}
      isDanger
      run={() => call('DELETE', path`file-channels/${channel}/receivers/${receiver}`)}
      told={`${receiver} is no receiver any more.`}
      done={done}
    >
      <p>
        It is not done with {least}
        {plural(left.files, 'file')}. {least}
        {plural(left.alone, 'file')} that wait for it alone are deleted.
      </p>
    </ActionButton>
  );
}
