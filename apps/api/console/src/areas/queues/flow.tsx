/** The children of a task as a tree. Branches are read when they are opened. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

import { path } from '../../http.ts';
import { useTopic } from '../../live.ts';
import { hrefOf, Link } from '../../location.ts';
import { useResource, useThrottled } from '../../resource.ts';
import { Card, State, Trouble } from '../../ui/elements.tsx';
import { plural } from '../../ui/text.ts';
import { toneOf } from './states.ts';

interface Child {
  readonly queue: string;
  readonly id: string;
  readonly state?: string;
}

interface Children {
  /** How many there are, ended or not. */
  readonly count: number;
  readonly items: readonly Child[];
}

/** An event of a busy queue isn't often one of a child. */
const RELOAD_MS = 1_000;

export function Flow({ queue, id }: { readonly queue: string; readonly id: string }): JSX.Element | null {
  const children = useResource<Children>(path`queues/${queue}/tasks/${id}/children`);
  const { value } = children;
  const isWaiting = value !== undefined && value.items.length < value.count;
  // The ends of children in other queues come with the next event of this one: at the latest, that the parent is ready.
  const reload = useThrottled(children.reload, RELOAD_MS);
  useTopic(isWaiting ? `queue:${encodeURIComponent(queue)}` : undefined, reload, reload);
  if (!value || value.count === 0) return null;
  const { count, items } = value;
  return (
    <Card title={`Flow: ${plural(count, 'child', 'children')}, ${items.length} ended`}>
      <Branch items={items} />
      {items.length < count && (
        <p class="muted">
          {plural(count - items.length, 'child', 'children')} more, not ended yet. The pages of their queues
          have them, and each links to this task.
        </p>
      )}
    </Card>
  );
}

function Branch({ items }: { readonly items: readonly Child[] }): JSX.Element {
  return (
    <ul class="timeline">
      {items.map((child) => (
        <Leaf key={`${child.queue} ${child.id}`} child={child} />
      ))}
    </ul>
  );
}

function Leaf({ child: { queue, id, state } }: { readonly child: Child }): JSX.Element {
  const [isOpen, setIsOpen] = useState(false);
  const below = useResource<Children>(isOpen ? path`queues/${queue}/tasks/${id}/children` : undefined);
  const { value } = below;
  return (
    <li data-tone={state === undefined ? 'good' : toneOf(state)}>
      <span class="row">
        <Link class="mono wide" href={hrefOf(['queues', queue, 'tasks', id])}>
          {id}
        </Link>
        <span class="muted">{queue}</span>
        {state !== undefined && <State tone={toneOf(state)}>{state}</State>}
        <button class="plain" type="button" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          {isOpen ? 'Close' : 'Children'}
        </button>
      </span>
      {below.error && <Trouble error={below.error} />}
      {isOpen &&
        value &&
        (value.items.length > 0 ? (
          <Branch items={value.items} />
        ) : (
          <p class="muted">No children have ended.</p>
        ))}
    </li>
  );
}
