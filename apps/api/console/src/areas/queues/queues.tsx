/** The area of queues: all of them, one of them, or one of its tasks. */
import type { JSX } from 'preact';
import { useCallback, useState } from 'preact/hooks';

import type { AreaProps } from '../../areas.ts';
import { useTopic } from '../../live.ts';
import type { LiveEvent } from '../../live.ts';
import { useResource } from '../../resource.ts';
import { Head, Read } from '../../ui/elements.tsx';
import { QueueTable } from '../overview/queue-table.tsx';
import type { QueueOverview } from '../overview/queue-table.tsx';
import type { Session } from '../../session.ts';
import { mayChange } from '../../session.ts';
import { EnqueueButton } from './enqueue.tsx';
import { PauseAll } from './pause-all.tsx';
import { OneQueue } from './queue.tsx';
import { OneTask } from './task.tsx';

interface Snapshot {
  readonly total: number;
  readonly queues: readonly QueueOverview[];
}

export default function Queues({ parts, session }: AreaProps): JSX.Element {
  const [queue, part, id] = parts;
  if (queue === undefined) return <AllQueues session={session} />;
  if (part === 'tasks' && id !== undefined)
    return <OneTask key={`${queue}/${id}`} queue={queue} id={id} session={session} />;
  return <OneQueue key={queue} queue={queue} tab={part ?? 'tasks'} session={session} />;
}

function AllQueues({ session }: { readonly session: Session }): JSX.Element {
  const first = useResource<Snapshot>('overview');
  const [last, setLast] = useState<Snapshot>();
  const onEvent = useCallback((event: LiveEvent) => {
    if (event.type === 'overview') setLast(event as unknown as Snapshot);
  }, []);
  useTopic('overview', onEvent);
  return (
    <>
      <Head title="Queues">
        {mayChange(session, 'queues:write') && <EnqueueButton />}
        {mayChange(session, 'queues:admin') && <PauseAll />}
      </Head>
      <Read of={{ ...first, value: last ?? first.value }}>{(shown) => <QueueTable {...shown} />}</Read>
    </>
  );
}
