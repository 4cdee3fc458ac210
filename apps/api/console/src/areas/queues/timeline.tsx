/** What happened to a task, in the order of time. */
import type { JSX } from 'preact';

import type { Tone } from '../../ui/parts.tsx';
import { Time } from '../../ui/parts.tsx';
import { instantText } from '../../ui/text.ts';
import { toneOf } from './states.ts';
import type { TaskView } from './types.ts';

interface Point {
  readonly at: number;
  readonly title: string;
  readonly text?: string;
  readonly tone: Tone;
}

export function Timeline({ task }: { readonly task: TaskView }): JSX.Element {
  return (
    <ol class="timeline">
      {pointsOf(task).map(({ at, title, text, tone }, index) => (
        <li key={index} data-tone={tone}>
          <strong>{title}</strong>{' '}
          <span class="muted small" title={instantText(at)}>
            <Time at={at} />
          </span>
          {text !== undefined && <div class="small wide">{text}</div>}
        </li>
      ))}
    </ol>
  );
}

const ENDED: readonly string[] = ['succeeded', 'dead', 'cancelled'];

function pointsOf(task: TaskView): Point[] {
  const { enqueuedAt, startedAt, finishedAt, runAt, state, attempt, error, failures = [], logs = [] } = task;
  const points: Point[] = [
    { at: enqueuedAt, title: 'Enqueued', tone: 'quiet' },
    ...failures.map((each) => ({
      at: each.at,
      title: `Attempt ${each.attempt} failed`,
      text: each.message,
      tone: 'bad' as const,
    })),
    ...logs.map(({ at, text }) => ({ at, title: 'Log', text, tone: 'quiet' as const })),
  ];
  if (startedAt !== undefined)
    points.push({ at: startedAt, title: `Attempt ${attempt} started`, tone: 'busy' });
  if (finishedAt !== undefined && ENDED.includes(state)) {
    const text = state === 'succeeded' || !error ? {} : { text: `${error.name}: ${error.message}` };
    points.push({
      at: finishedAt,
      title: state[0]!.toUpperCase() + state.slice(1),
      ...text,
      tone: toneOf(state),
    });
  } else if (runAt !== undefined && runAt > Date.now()) {
    points.push({ at: runAt, title: state === 'retrying' ? 'Next attempt' : 'Due', tone: 'wait' });
  }
  return points.toSorted((a, b) => a.at - b.at);
}
