/** All queues, by pages. The numbers of the first ones change by themselves. */
import type { JSX } from 'preact';
import { useCallback, useRef, useState } from 'preact/hooks';

import { useTopic } from '../../live.ts';
import type { LiveEvent } from '../../live.ts';
import type { Session } from '../../session.ts';
import { mayChange } from '../../session.ts';
import { Head } from '../../ui/elements.tsx';
import { usePages } from '../../ui/pages.ts';
import { TableOf } from '../../ui/paged-table.tsx';
import { countText } from '../../ui/text.ts';
import { FirstTask, NO_QUEUE, QUEUE_COLUMNS } from '../overview/queue-table.tsx';
import type { QueueFigures, Snapshot } from '../overview/snapshot.ts';
import { EnqueueButton } from './enqueue.tsx';
import { PauseAll } from './pause-all.tsx';

/** As many as the overview has. */
const ADDRESS = 'queues?limit=100';

export function AllQueues({ session }: { readonly session: Session }): JSX.Element {
  const pages = usePages<QueueFigures>(ADDRESS);
  const { refresh } = pages;
  const [live, setLive] = useState<ReadonlyMap<string, QueueFigures>>(new Map());
  const names = useRef<string>(undefined);
  const onEvent = useCallback(
    (event: LiveEvent) => {
      if (event.type !== 'overview') return;
      const { queues, total } = event as unknown as Snapshot;
      setLive(new Map(queues.map((queue) => [queue.name, queue])));
      const now = JSON.stringify([total, queues.map(({ name }) => name)]);
      // Also the first time: the page may have been read before it.
      if (now !== names.current) refresh();
      names.current = now;
    },
    [refresh],
  );
  useTopic('overview', onEvent);
  const items = pages.items?.map((queue) => live.get(queue.name) ?? queue);
  const still = items?.filter(({ name }) => !live.has(name)).length ?? 0;
  return (
    <>
      <Head title="Queues">
        {mayChange(session, 'queues:write') && <EnqueueButton />}
        {mayChange(session, 'queues:admin') && <PauseAll />}
      </Head>
      <TableOf
        label="Queues"
        idOf={({ name }) => name}
        columns={QUEUE_COLUMNS}
        empty={NO_QUEUE}
        hint={<FirstTask />}
        pages={{ ...pages, items }}
        {...(still > 0 && live.size > 0 && { again: pages.reload })}
      />
      {still > 0 && live.size > 0 && (
        <p class="muted small">
          The numbers of the last {countText(still)} queues are those of when they were read.
        </p>
      )}
    </>
  );
}
