/** What happens in a queue, as it happens. */
import type { JSX } from 'preact';
import { useCallback, useState } from 'preact/hooks';

import { useTopic } from '../../live.ts';
import type { LiveEvent } from '../../live.ts';
import { hrefOf, Link } from '../../location.ts';
import type { Tone } from '../../ui/elements.tsx';
import { Empty, State } from '../../ui/elements.tsx';
import { Table } from '../../ui/table.tsx';
import { instantText } from '../../ui/text.ts';

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

export function Events({ queue }: { readonly queue: string }): JSX.Element {
  const [seen, setSeen] = useState<readonly Seen[]>([]);
  const [isPaused, setIsPaused] = useState(false);
  const onEvent = useCallback(
    (event: LiveEvent) => {
      if (isPaused) return;
      const next = { at: Date.now(), ...event, key: String((last += 1)) } as Seen;
      setSeen((before) => [next, ...before].slice(0, MAX_SHOWN));
    },
    [isPaused],
  );
  useTopic(`queue:${encodeURIComponent(queue)}`, onEvent);
  return (
    <div class="stack">
      <div class="row">
        <button type="button" aria-pressed={isPaused} onClick={() => setIsPaused(!isPaused)}>
          {isPaused ? 'Go on' : 'Pause the list'}
        </button>
        <span class="muted small">The last {MAX_SHOWN} events since this tab was opened.</span>
      </div>
      {seen.length === 0 ? (
        <Empty title="No event yet.">
          <span>Events appear as soon as tasks are enqueued, started and ended.</span>
        </Empty>
      ) : (
        <Table
          label="Events"
          rows={seen}
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
