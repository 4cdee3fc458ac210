/** Channels of files: what lies in Redis, and the receivers that it waits for. Looking takes no lease from a receiver. */
import type { JSX } from 'preact';

import type { AreaProps } from '../../areas.ts';
import { path, withQuery } from '../../http.ts';
import type { Session } from '../../session.ts';
import { mayChange } from '../../session.ts';
import { Bread } from '../../ui/bread.tsx';
import { useLiveValue } from '../../ui/live-value.ts';
import { Figure, Head, Read, Time } from '../../ui/elements.tsx';
import { NextStep } from '../../ui/next-step.tsx';
import { OpenByName } from '../../ui/open-by-name.tsx';
import { StoredNames } from '../../ui/stored-names.tsx';
import { bytesText, countText } from '../../ui/text.ts';
import { FilesCard } from './files-card.tsx';
import { ReceiversCard } from './receivers.tsx';
import { SendButton } from './send.tsx';
import type { ChannelStatus } from './status.ts';

/** The files of the page of a channel: the oldest ones, as many as its topic has. */
const SHOWN = 100;

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
  const status = useLiveValue<ChannelStatus>(
    withQuery(path`file-channels/${channel}`, { limit: SHOWN }),
    `file-channel:${encodeURIComponent(channel)}`,
  );
  const mayWrite = mayChange(session, 'messaging:write');
  return (
    <>
      <Head title={<Bread above={[['Files', ['files']]]} name={channel} />}>
        {mayWrite && status.value && !status.value.isEnded && (
          <SendButton {...{ channel, status: status.value }} done={status.reload} />
        )}
      </Head>
      <Read of={status}>
        {(shown) => (
          <>
            <Figures status={shown} />
            <ReceiversCard {...{ channel, mayWrite }} status={shown} done={status.reload} />
            <FilesCard status={shown} mayWrite={mayWrite} done={status.reload} />
          </>
        )}
      </Read>
    </>
  );
}

function Figures({ status }: { readonly status: ChannelStatus }): JSX.Element {
  const { isEnded, listed, storedBytes, receivers, files } = status;
  const active = receivers.filter(({ isActive }) => isActive).length;
  return (
    <div class="grid">
      <Figure label="In Redis" value={bytesText(storedBytes)} note="of all files" />
      <Figure label="Files" value={countText(listed)} note="that a receiver is not done with" />
      <Figure
        label="Oldest file"
        value={<Time at={files[0]?.listedAt} />}
        note={files[0]?.name ?? 'nothing is left to receive'}
      />
      <Figure
        label="Receivers"
        value={countText(receivers.length)}
        note={isEnded ? 'the channel has ended' : `${countText(active)} active`}
      />
    </div>
  );
}
