/** The devices of a recipient. Each has a cursor: a message stays until all of them have acked it. */
import type { JSX } from 'preact';

import { call, path } from '../../http.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { Field } from '../../ui/dialog.tsx';
import { Card, Time } from '../../ui/elements.tsx';
import { ACTIONS, Table } from '../../ui/table.tsx';
import { countText, plural } from '../../ui/text.ts';

export interface Device {
  readonly device: string;
  readonly ackedId: number;
  readonly unread: number;
  readonly lastFetchedAt: number | null;
}

interface Props {
  readonly recipient: string;
  readonly devices: readonly Device[];
  readonly lastId: number;
  readonly mayWrite: boolean;
  readonly done: () => void;
}

export function DevicesCard({ recipient, devices, lastId, mayWrite, done }: Props): JSX.Element {
  return (
    <Card title="Devices">
      <Table
        label="Devices"
        rows={devices}
        idOf={({ device }) => device}
        columns={[
          { title: 'Device', cell: ({ device }) => <span class="wide">{device}</span> },
          { title: 'Unread', kind: 'number', cell: ({ unread }) => countText(unread) },
          { title: 'Acked up to', kind: 'number', cell: ({ ackedId }) => countText(ackedId) },
          { title: 'Fetched', kind: 'fit', cell: ({ lastFetchedAt }) => <Time at={lastFetchedAt} /> },
          {
            ...ACTIONS,
            cell: (device) =>
              mayWrite && (
                <span class="row">
                  {device.unread > 0 && <AdvanceButton {...{ recipient, device, lastId, done }} />}
                  {devices.length > 1 && <RemoveButton {...{ recipient, device, done }} />}
                </span>
              ),
          },
        ]}
      />
    </Card>
  );
}

interface ActionProps {
  readonly recipient: string;
  readonly device: Device;
  readonly done: () => void;
}

function AdvanceButton({
  recipient,
  device: { device, unread, ackedId },
  lastId,
  done,
}: ActionProps & { readonly lastId: number }): JSX.Element {
  return (
    <ActionButton
      label="Advance"
      title={`Ack messages for ${device} of ${recipient}`}
      submit="Ack"
      isDanger
      run={({ upToId }) =>
        call('POST', path`mailboxes/${recipient}/ack`, { body: { upToId: Number(upToId), device } })
      }
      told={({ upToId }) => `${device} has acked up to ${upToId}.`}
      done={done}
    >
      <p>
        {device} has {plural(unread, 'unread message')}. It never gets those that you ack here.
      </p>
      <Field label="Up to the id" hint={`${countText(lastId)}: all of them`}>
        <input name="upToId" type="number" min={ackedId + 1} max={lastId} required defaultValue={lastId} />
      </Field>
    </ActionButton>
  );
}

function RemoveButton({ recipient, device: { device, unread }, done }: ActionProps): JSX.Element {
  return (
    <ActionButton
      label="Remove"
      title={`Remove ${device}`}
      isDanger
      run={() => call('DELETE', path`mailboxes/${recipient}/devices/${device}`)}
      told={`${device} is no device of ${recipient} any more.`}
      done={done}
    >
      <p>It has {plural(unread, 'unread message')}. Those that the other devices have acked are deleted.</p>
    </ActionButton>
  );
}
