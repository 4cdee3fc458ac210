/** Queues with the number of their tasks in each state. Each number leads to those tasks. */
import type { JSX } from 'preact';

import { hrefOf, Link } from '../../location.ts';
import { State } from '../../ui/elements.tsx';
import { NextStep } from '../../ui/next-step.tsx';
import type { Column } from '../../ui/table.tsx';
import { countText, durationText } from '../../ui/text.ts';
import { STATES } from '../queues/states.ts';
import type { QueueFigures } from './snapshot.ts';

export function QueueLink({ name }: { readonly name: string }): JSX.Element {
  return <Link href={hrefOf(['queues', name])}>{name}</Link>;
}

export const NO_QUEUE = 'There is no queue yet.';

export function FirstTask(): JSX.Element {
  return (
    <NextStep
      code="await new Queue(redis, 'mail').enqueue('mail.welcome', { to: 'jill@example.com' })"
      guide="queues/enqueue"
    >
      The first task makes one.
    </NextStep>
  );
}

export const QUEUE_COLUMNS: readonly Column<QueueFigures>[] = [
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
    cell: ({ name, counts }: QueueFigures) =>
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
    cell: ({ headAgeMs }) => (headAgeMs === null ? <span class="muted">–</span> : durationText(headAgeMs)),
  },
];
