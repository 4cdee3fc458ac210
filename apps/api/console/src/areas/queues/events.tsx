/** What happens in a queue, as it happens. */
import type { JSX } from 'preact';
import { useCallback, useState } from 'preact/hooks';

import { useTopic } from '../../live.ts';
import type { LiveEvent } from '../../live.ts';
import { hrefOf, Link } from '../../location.ts';
import type { Tone } from '../../ui/elements.tsx';
import { Empty, State } from '../../ui/elements.tsx';
import { Table } from '../../ui/table.tsx';
import { instantText, plural } from '../../ui/text.ts';

interface Seen {
  readonly key: string;
  readonly at: number;
  readonly type: string;
  readonly id?: string;
  readonly name?: string;
  readonly attempt?: number;
  readonly error?: { readonly name: string; readonly message: string };
  readonly missed?: number;
}

const MAX_SHOWN = 200;
const TONES: Readonly<Record<string, Tone>> = {
  enqueued: 'busy',
  started: 'good',
  succeeded: 'good',
  retrying: 'wait',
  dead: 'bad',
  gap: 'bad',
};
let last = 0;

interface List {
  /** The newest first. */
  readonly items: readonly Seen[];
  /** Also those that are not among the items any more. */
  readonly count: number;
}

const NONE: List = { items: [], count: 0 };

export function Events({ queue }: { readonly queue: string }): JSX.Element {
  const [list, setList] = useState(NONE);
  /** What a paused list shows, while the other one goes on. */
  const [kept, setKept] = useState<List>();
  const onEvent = useCallback((event: LiveEvent) => {
    // The page of the queue says it.
    if (event.type === 'off') return;
    const next = { at: Date.now(), ...event, key: String((last += 1)) } as Seen;
    setList(({ items, count }) => ({ items: [next, ...items].slice(0, MAX_SHOWN), count: count + 1 }));
  }, []);
  useTopic(`queue:${encodeURIComponent(queue)}`, onEvent);
  const shown = (kept ?? list).items;
  const waiting = kept ? list.count - kept.count : 0;
  return (
    <div class="stack">
      <div class="row">
        <button type="button" onClick={() => setKept(kept ? undefined : list)}>
          {kept ? 'Go on' : 'Pause the list'}
        </button>
        <span class="muted small" role="status">
          {kept ? pausedText(waiting) : `The last ${MAX_SHOWN} events since this tab was opened.`}
        </span>
      </div>
      {shown.length === 0 ? (
        <Empty title="No event yet.">
          <span>Events appear as soon as tasks are enqueued, started and ended.</span>
        </Empty>
      ) : (
        <Table
          label="Events"
          rows={shown}
          idOf={({ key }) => key}
          columns={[
            { title: 'Time', kind: 'fit', cell: ({ at }) => instantText(at) },
            {
              title: 'Event',
              kind: 'fit',
              cell: ({ type }) => <State tone={TONES[type] ?? 'quiet'}>{type}</State>,
            },
            {
              title: 'Task',
              cell: ({ id }) =>
                id !== undefined && (
                  <Link class="mono wide" href={hrefOf(['queues', queue, 'tasks', id])}>
                    {id}
                  </Link>
                ),
            },
            { title: 'About', cell: (each) => <span class="wide">{aboutOf(each)}</span> },
          ]}
        />
      )}
    </div>
  );
}

function pausedText(waiting: number): string {
  const rest = waiting > MAX_SHOWN ? `, of which the last ${MAX_SHOWN} will be shown` : '';
  return `Paused. ${plural(waiting, 'event')} since${rest}.`;
}

function aboutOf({ name, attempt, error, missed }: Seen): string {
  return [
    name,
    attempt !== undefined && `attempt ${attempt}`,
    error && `${error.name}: ${error.message}`,
    missed !== undefined && `${missed} events were trimmed before they were read`,
  ]
    .filter(Boolean)
    .join(', ');
}
