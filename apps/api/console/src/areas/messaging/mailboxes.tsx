/** Mailboxes: what is unread, how far each device is, and the messages. */
import type { JSX } from 'preact';
import { useCallback } from 'preact/hooks';

import type { AreaProps } from '../../areas.ts';
import { call, path, withQuery } from '../../http.ts';
import { useTopic } from '../../live.ts';
import { useResource, useThrottled } from '../../resource.ts';
import type { Session } from '../../session.ts';
import { mayChange } from '../../session.ts';
import { Bread } from '../../ui/bread.tsx';
import { Dialog, DialogButton, Field } from '../../ui/dialog.tsx';
import { newId } from '../../ui/new-id.ts';
import { NextStep } from '../../ui/next-step.tsx';
import { OpenByName } from '../../ui/open-by-name.tsx';
import { StoredNames } from '../../ui/stored-names.tsx';
import { Card, Empty, Figure, Head, Read, Time } from '../../ui/elements.tsx';
import { Table } from '../../ui/table.tsx';
import { bytesText, countText, jsonText } from '../../ui/text.ts';
import type { Device } from './devices.tsx';
import { DevicesCard } from './devices.tsx';
import { TrimButton } from './trim.tsx';
import { act } from '../../ui/toasts.tsx';

interface Mailbox {
  readonly unread: number;
  readonly size: number;
  readonly sizeBytes: number;
  readonly lastId: number;
  readonly ackedId: number;
  readonly oldestUnreadAt: number | null;
  readonly lastReceivedAt: number | null;
  readonly lastFetchedAt: number | null;
  readonly devices: readonly Device[];
}

interface Message {
  readonly id: number;
  readonly from: string;
  readonly body: unknown;
  readonly sentAt: number;
}

const SHOWN = 50;

export default function Mailboxes({ parts: [recipient], session }: AreaProps): JSX.Element {
  if (recipient !== undefined) return <OneMailbox key={recipient} recipient={recipient} session={session} />;
  return (
    <>
      <Head title="Mailboxes" />
      <OpenByName parts={['mailboxes']} label="Recipient" placeholder="frank" />
      <StoredNames
        kind="mailboxes"
        title="Recipient"
        parts={['mailboxes']}
        empty="There is no mailbox."
        hint={
          <NextStep
            code="await new Mailboxes(redis).send('frank', 'See you', { from: 'bill' })"
            guide="messaging/mailboxes"
          >
            The first message makes one. Open a name above to send it from here.
          </NextStep>
        }
        session={session}
      />
    </>
  );
}

interface OneProps {
  readonly recipient: string;
  readonly session: Session;
}

function OneMailbox({ recipient, session }: OneProps): JSX.Element {
  const mailbox = useResource<Mailbox>(path`mailboxes/${recipient}`);
  // As the slowest device, which has them all: there need not be one with the name of the first.
  const device = mailbox.value?.devices[0]?.device;
  const messages = useResource<{ items: readonly Message[] }>(
    mailbox.value &&
      withQuery(path`mailboxes/${recipient}/messages`, { limit: SHOWN, order: 'latest', device }),
  );
  const reload = useCallback(() => {
    mailbox.reload();
    messages.reload();
  }, [mailbox.reload, messages.reload]);
  const reloadSoon = useThrottled(reload);
  useTopic(`mailbox:${encodeURIComponent(recipient)}`, reloadSoon, reloadSoon);
  const mayWrite = mayChange(session, 'messaging:write');
  const { lastId = 0, size = 0, devices = [] } = mailbox.value ?? {};
  // Later messages stay, also those that arrive meanwhile: `DELETE …/messages` would take them too.
  const trim = async (upToId: number): Promise<void> => {
    const behind = devices.filter(({ ackedId }) => ackedId < upToId);
    for (const { device: name } of behind)
      await call('POST', path`mailboxes/${recipient}/ack`, { body: { upToId, device: name } });
  };
  return (
    <>
      <Head title={<Bread above={[['Mailboxes', ['mailboxes']]]} name={recipient} />}>
        {mayWrite && <SendButton recipient={recipient} done={reload} />}
        {mayWrite && devices.length > 0 && (
          <TrimButton
            name={recipient}
            stored={size}
            lastId={lastId}
            effect="No device of the recipient gets them any more."
            trim={trim}
            done={reload}
          />
        )}
      </Head>
      <Read of={mailbox}>{(shown) => <Figures mailbox={shown} />}</Read>
      {devices.length > 0 && <DevicesCard {...{ recipient, devices, lastId, mayWrite }} done={reload} />}
      <Card title="Unread messages">
        <Read of={messages}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty title="Everything is read.">
                <span>New messages appear here as they arrive.</span>
              </Empty>
            ) : (
              <Table
                label="Messages"
                rows={items}
                idOf={({ id }) => String(id)}
                columns={[
                  { title: 'Id', kind: 'number', cell: ({ id }) => id },
                  { title: 'From', cell: ({ from }) => <span class="wide">{from}</span> },
                  {
                    title: 'Message',
                    cell: ({ body }) => (
                      <span class="wide">{typeof body === 'string' ? body : jsonText(body)}</span>
                    ),
                  },
                  { title: 'Sent', kind: 'fit', cell: ({ sentAt }) => <Time at={sentAt} /> },
                ]}
              />
            )
          }
        </Read>
      </Card>
    </>
  );
}

function Figures({ mailbox }: { readonly mailbox: Mailbox }): JSX.Element {
  const { unread, size, sizeBytes, oldestUnreadAt, lastFetchedAt } = mailbox;
  return (
    <div class="grid">
      <Figure label="Unread" value={countText(unread)} note={`of ${countText(size)} stored`} />
      <Figure label="Oldest unread" value={<Time at={oldestUnreadAt} />} note="since it was sent" />
      <Figure
        label="Last fetched"
        value={<Time at={lastFetchedAt} />}
        note="by the recipient, or this page"
      />
      <Figure label="Stored" value={bytesText(sizeBytes)} note="in Redis" />
    </div>
  );
}

function SendButton({
  recipient,
  done,
}: {
  readonly recipient: string;
  readonly done: () => void;
}): JSX.Element {
  const send = async ({ from, body }: Readonly<Record<string, string>>): Promise<boolean> => {
    const message = { from, body, id: newId() };
    const isDone = await act('Sent.', () =>
      call('POST', path`mailboxes/${recipient}/messages`, { body: message }),
    );
    done();
    return isDone;
  };
  return (
    <DialogButton label="Send a message">
      {(close) => (
        <Dialog title={`Send a message to ${recipient}`} submit="Send" close={close} onSubmit={send}>
          <Field label="From">
            <input name="from" required />
          </Field>
          <Field label="Message">
            <input name="body" required />
          </Field>
        </Dialog>
      )}
    </DialogButton>
  );
}
