/** What happened to a task, in the order of time: by the events that the queue still has, and the lines of its log. */
import type { JSX } from 'preact';

import type { Tone } from '../../ui/elements.tsx';
import { Time } from '../../ui/elements.tsx';
import { durationText, instantText } from '../../ui/text.ts';
import { toneOf } from './states.ts';
import type { TaskEvent, TaskView } from './types.ts';

interface Point {
  readonly at: number;
  readonly title: string;
  readonly text?: string | undefined;
  readonly tone: Tone;
}

const TONES: Readonly<Record<string, Tone>> = {
  started: 'busy',
  succeeded: 'good',
  dead: 'bad',
  retrying: 'bad',
  rescheduled: 'wait',
  ready: 'wait',
  delivered: 'good',
};
/** Events that end an attempt. */
const ENDS: ReadonlySet<string> = new Set(['succeeded', 'retrying', 'dead']);
const ENDED: ReadonlySet<string> = new Set(['succeeded', 'dead', 'cancelled']);

interface Props {
  readonly task: TaskView;
  readonly events: readonly TaskEvent[];
}

export function Timeline({ task, events }: Props): JSX.Element {
  return (
    <ol class="timeline">
      {pointsOf(task, events).map(({ at, title, text, tone }, index) => (
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

function pointsOf(task: TaskView, events: readonly TaskEvent[]): Point[] {
  const { enqueuedAt, finishedAt, runAt, state, error, waitsFor } = task;
  const shown = events.filter(({ type }) => type !== 'progress');
  const seen = new Set(events.map(({ type }) => type));
  const points = inOrder(task, shown);
  // Events are kept for a while, and from the first look at them on.
  if (!seen.has('enqueued')) points.unshift({ at: enqueuedAt, title: 'Enqueued', tone: 'quiet' });
  if (finishedAt !== undefined && ENDED.has(state) && !seen.has(state)) {
    const text = error && `${error.name}: ${error.message}`;
    points.push({ at: finishedAt, title: capital(state), text, tone: toneOf(state) });
  }
  if (runAt !== undefined && (state === 'scheduled' || state === 'retrying')) {
    const next = waitsFor === undefined ? 'Next attempt' : `Waits for ${waitsFor} until then`;
    points.push({ at: runAt, title: state === 'retrying' ? next : 'Due', tone: 'wait' });
  }
  return points;
}

/** Log lines and steps among the events. Of one ms they come after the start of their attempt and before its end. */
function inOrder({ logs = [], steps = [] }: TaskView, events: readonly TaskEvent[]): Point[] {
  const done: Point[] = [
    ...logs.map(({ at, text }): Point => ({ at, title: 'Log', text, tone: 'quiet' })),
    ...steps.map(({ at, name }): Point => ({ at, title: `Step ${name}`, tone: 'busy' })),
  ].toSorted((a, b) => a.at - b.at);
  const points: Point[] = [];
  let next = 0;
  let startedAt: number | undefined;
  for (const event of events) {
    const isEnd = ENDS.has(event.type);
    const upTo = isEnd ? event.at : event.at - 1;
    while (next < done.length && done[next]!.at <= upTo) {
      points.push(done[next]!);
      next += 1;
    }
    if (event.type === 'started') startedAt = event.at;
    points.push(pointOf(event, isEnd ? startedAt : undefined));
  }
  return [...points, ...done.slice(next)];
}

function pointOf(event: TaskEvent, startedAt: number | undefined): Point {
  const { type, at, error } = event;
  const took = startedAt === undefined ? '' : ` after ${durationText(Math.max(0, at - startedAt))}`;
  const text = error && `${error.name}: ${error.message}`;
  // A task that sleeps or waits is retrying, and has not failed.
  const tone = type === 'retrying' && !error ? 'wait' : (TONES[type] ?? 'quiet');
  return { at, title: `${titleOf(event)}${took}`, text, tone };
}

function titleOf({ type, attempt, event, error }: TaskEvent): string {
  if (type === 'started') return `Attempt ${attempt} started`;
  if (type === 'delivered') return `Event ${event} delivered`;
  if (type !== 'retrying') return capital(type);
  if (error) return `Attempt ${attempt} failed`;
  return event === undefined ? 'Put off' : `Waits for ${event}`;
}

function capital(text: string): string {
  return text[0]!.toUpperCase() + text.slice(1);
}
