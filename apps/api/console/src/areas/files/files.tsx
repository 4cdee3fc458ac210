/** Channels of files: the receivers, and the files that one of them is not done with. */
import type { JSX } from 'preact';

import type { AreaProps } from '../../areas.ts';
import { call, path, withQuery } from '../../http.ts';
import { setQuery, usePlace } from '../../location.ts';
import { useResource } from '../../resource.ts';
import type { Session } from '../../session.ts';
import { mayChange } from '../../session.ts';
import { Bread } from '../../ui/bread.tsx';
import { Dialog, DialogButton } from '../../ui/dialog.tsx';
import { NextStep } from '../../ui/next-step.tsx';
import { OpenByName } from '../../ui/open-by-name.tsx';
import { StoredNames } from '../../ui/stored-names.tsx';
import type { Tone } from '../../ui/elements.tsx';
import { Card, Empty, Head, Read, Share, State, Time } from '../../ui/elements.tsx';
import { Table } from '../../ui/table.tsx';
import { bytesText } from '../../ui/text.ts';
import { act } from '../../ui/toasts.tsx';

interface Receiver {
  readonly receiver: string;
  readonly isActive: boolean;
}

interface File {
  readonly id: string;
  readonly number: number;
  readonly name: string;
  readonly state: 'open' | 'closed' | 'aborted';
  readonly bytes: number;
  readonly listedAt: number;
  readonly reason?: string;
  readonly ackedBytes?: number;
}

const TONES: Readonly<Record<File['state'], Tone>> = { open: 'busy', closed: 'good', aborted: 'bad' };

export default function Files({ parts: [channel], session }: AreaProps): JSX.Element {
  if (channel !== undefined) return <OneChannel key={channel} channel={channel} session={session} />;
  return (
    <>
      <Head title="Files" />
      <OpenByName parts={['files']} label="Name of a channel" placeholder="access-logs" />
      <StoredNames
        kind="file-channels"
        title="Channel"
        parts={['files']}
        empty="There is no channel."
        hint={
          <NextStep
            code="await new FileSender(redis, 'access-logs', { receivers: ['worker-1'] }).send(path, { id })"
            guide="messaging/files"
          >
            A sender makes one, and names its receivers.
          </NextStep>
        }
        session={session}
      />
    </>
  );
}

interface ChannelProps {
  readonly channel: string;
  readonly session: Session;
}

function OneChannel({ channel, session }: ChannelProps): JSX.Element {
  const receivers = useResource<{ items: readonly Receiver[] }>(path`file-channels/${channel}/receivers`);
  const chosen = usePlace().query.get('receiver') ?? receivers.value?.items[0]?.receiver;
  return (
    <>
      <Head title={<Bread above={[['Files', ['files']]]} name={channel} />} />
      <Card title="Receivers">
        <Read of={receivers}>
          {({ items }) =>
            items.length === 0 ? (
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
                rows={items}
                idOf={({ receiver }) => receiver}
                columns={[
                  {
                    title: 'Receiver',
                    cell: ({ receiver }) => (
                      <button
                        class="plain"
                        type="button"
                        aria-pressed={receiver === chosen}
                        onClick={() => setQuery({ receiver })}
                      >
                        {receiver}
                      </button>
                    ),
                  },
                  {
                    title: 'State',
                    cell: ({ isActive }) => (
                      <State tone={isActive ? 'good' : 'quiet'}>{isActive ? 'active' : 'away'}</State>
                    ),
                  },
                ]}
              />
            )
          }
        </Read>
      </Card>
      {chosen !== undefined && <FilesOf channel={channel} receiver={chosen} session={session} />}
    </>
  );
}

function FilesOf({ channel, receiver, session }: ChannelProps & { readonly receiver: string }): JSX.Element {
  const files = useResource<{ items: readonly File[] }>(
    withQuery(path`file-channels/${channel}/files`, { receiver, limit: 100 }),
  );
  const drop = async (file: File): Promise<boolean> => {
    const isDone = await act(`${file.name} is dropped.`, () => call('DELETE', path`files/${file.id}`));
    files.reload();
    return isDone;
  };
  return (
    <Card
      title={`Files that ${receiver} is not done with`}
      actions={
        <button type="button" onClick={files.reload}>
          Read again
        </button>
      }
    >
      <Read of={files}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="Nothing is left to receive.">
              <span>A file is here from its first byte until this receiver has acked its last one.</span>
            </Empty>
          ) : (
            <Table
              label="Files"
              rows={items}
              idOf={({ id }) => id}
              columns={[
                { title: 'File', cell: ({ name }) => <span class="wide">{name}</span> },
                {
                  title: 'State',
                  kind: 'fit',
                  cell: ({ state }) => <State tone={TONES[state]}>{state}</State>,
                },
                { title: 'Received', cell: Received },
                { title: 'Listed', kind: 'fit', cell: ({ listedAt }) => <Time at={listedAt} /> },
                {
                  title: <span class="hidden-text">Actions</span>,
                  kind: 'fit',
                  cell: (file) =>
                    mayChange(session, 'messaging:write') && (
                      <DialogButton label="Drop" isDanger>
                        {(close) => (
                          <Dialog
                            title={`Drop ${file.name}`}
                            submit="Drop"
                            isDanger
                            close={close}
                            onSubmit={() => drop(file)}
                          >
                            <p>All receivers lose it, also those that are not done.</p>
                          </Dialog>
                        )}
                      </DialogButton>
                    ),
                },
              ]}
            />
          )
        }
      </Read>
    </Card>
  );
}

function Received({ bytes, ackedBytes = 0 }: File): JSX.Element {
  const text = `${bytesText(ackedBytes)} of ${bytesText(bytes)}`;
  return (
    <span>
      {text} <Share used={ackedBytes} of={bytes} label={text} />
    </span>
  );
}
