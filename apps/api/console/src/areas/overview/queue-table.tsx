/** Queues with the number of their tasks in each state. Each number leads to those tasks. */
import type { JSX } from 'preact';

import { hrefOf, Link } from '../../location.ts';
import { Empty, State } from '../../ui/elements.tsx';
import { NextStep } from '../../ui/next-step.tsx';
import { Table } from '../../ui/table.tsx';
import { countText, durationText } from '../../ui/text.ts';
import { STATES } from '../queues/states.ts';
import type { TaskState } from '../queues/states.ts';

export interface QueueOverview {
  readonly name: string;
  readonly counts: Readonly<Record<TaskState, number>>;
  readonly headAgeMs: number | null;
  readonly isPaused: boolean;
}

export function QueueLink({ name }: { readonly name: string }): JSX.Element {
  return <Link href={hrefOf(['queues', name])}>{name}</Link>;
}

export function QueueTable(props: {
  readonly queues: readonly QueueOverview[];
  readonly total: number;
}): JSX.Element {
  const { queues, total } = props;
  if (queues.length === 0) {
    return (
      <Empty title="There is no queue yet.">
        <NextStep
          code="await new Queue(redis, 'mail').enqueue('mail.welcome', { to: 'jill@example.com' })"
          guide="queues/enqueue"
        >
          The first task makes one.
        </NextStep>
      </Empty>
    );
  }
  return (
    <div class="stack">
      <Table
        label="Queues"
        rows={queues}
        idOf={({ name }) => name}
        columns={[
          {
            title: 'Queue',
            cell: ({ name, isPaused }) => (
              <span class="row">
                <QueueLink name={name} />
                {isPaused && <State tone="wait">paused</State>}
              </span>
            ),
          },
          ...STATES.map((state) => ({
            title: state,
            kind: 'number' as const,
            cell: ({ name, counts }: QueueOverview) =>
              counts[state] > 0 ? (
                <Link href={hrefOf(['queues', name], { q: `state:${state}` })} class="number">
                  {countText(counts[state])}
                </Link>
              ) : (
                <span class="muted">0</span>
              ),
          })),
          {
            title: 'Oldest ready',
            kind: 'number',
            cell: ({ headAgeMs }) =>
              headAgeMs === null ? <span class="muted">–</span> : durationText(headAgeMs),
          },
        ]}
      />
      {total > queues.length && (
        <p class="muted small">
          The first {queues.length} of {countText(total)} queues. Go to another one by its name:{' '}
          <kbd>Ctrl K</kbd>
        </p>
      )}
    </div>
  );
}
