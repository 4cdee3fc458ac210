/** The children of a task as a tree. Branches are read when they are opened. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

import { path } from '../../http.ts';
import { hrefOf, Link } from '../../location.ts';
import { useResource } from '../../resource.ts';
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

export function Flow({ queue, id }: { readonly queue: string; readonly id: string }): JSX.Element | null {
  const children = useResource<Children>(path`queues/${queue}/tasks/${id}/children`);
  if (!children.value || children.value.count === 0) return null;
  const { count, items } = children.value;
  return (
    <Card title={`Flow: ${plural(count, 'child', 'children')}, ${items.length} ended`}>
      <Branch items={items} />
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
