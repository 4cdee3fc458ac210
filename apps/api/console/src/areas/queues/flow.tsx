/** The children of a task as a tree. Branches are read when they are opened, and again when a task of their queues changes. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

import { path } from '../../http.ts';
import { useTopic } from '../../live.ts';
import { hrefOf, Link } from '../../location.ts';
import type { Resource } from '../../resource.ts';
import { useResource, useThrottled } from '../../resource.ts';
import { Card, State, Trouble } from '../../ui/elements.tsx';
import { countText, plural } from '../../ui/text.ts';
import { toneOf } from './states.ts';

interface Child {
  readonly queue: string;
  readonly id: string;
  readonly name?: string;
  /** Undefined: its queue doesn't have it, yet or any more. */
  readonly state?: string;
}

interface Children {
  /** How many there are, ended or not. */
  readonly count: number;
  readonly items: readonly Child[];
}

interface Place {
  readonly queue: string;
  readonly id: string;
}

/** An event of a busy queue isn't often one of a child. */
const RELOAD_MS = 1_000;
/** Of the queues of the children of a task: a stream has ten topics. */
const MOST_FOLLOWED = 3;
const FIRST_SHOWN = 100;

const ENDED: ReadonlySet<string | undefined> = new Set(['succeeded', 'dead', 'cancelled', 'removed']);

export function Flow(place: Place): JSX.Element | null {
  const children = useChildren(place);
  const { value } = children;
  if (!value || value.count === 0) return null;
  return (
    <Card title={`Flow: ${plural(value.count, 'child', 'children')}`}>
      <Branch of={children} parent={place} />
    </Card>
  );
}

function useChildren({ queue, id }: Place): Resource<Children> {
  return useResource<Children>(path`queues/${queue}/tasks/${id}/children`);
}

interface BranchProps {
  readonly of: Resource<Children>;
  readonly parent: Place;
}

function Branch({ of: { value, error, reload }, parent }: BranchProps): JSX.Element {
  const [isWhole, setIsWhole] = useState(false);
  const reloadSoon = useThrottled(reload, RELOAD_MS);
  if (error) return <Trouble error={error} />;
  if (!value) return <p class="muted">Reading…</p>;
  const { count, items } = value;
  if (count === 0) return <p class="muted">No children.</p>;
  const open = items.filter(({ state }) => !ENDED.has(state));
  const followed = new Set(open.length > 0 || items.length < count ? [parent.queue] : []);
  for (const { queue, state } of open) {
    // A stream with a queue that isn't there would be refused.
    if (state !== undefined && followed.size < MOST_FOLLOWED) followed.add(queue);
  }
  const shown = isWhole ? items : items.slice(0, FIRST_SHOWN);
  return (
    <>
      {Array.from(followed, (queue) => (
        <Follow key={queue} queue={queue} reload={reloadSoon} />
      ))}
      <p class="muted">{inStates(items)}</p>
      <ul class="timeline">
        {shown.map((child) => (
          <Leaf key={`${child.queue} ${child.id}`} child={child} />
        ))}
      </ul>
      {shown.length < items.length && (
        <button type="button" onClick={() => setIsWhole(true)}>
          Show {countText(items.length - shown.length)} more
        </button>
      )}
      {items.length < count && (
        <p class="muted">
          {plural(count - items.length, 'child', 'children')} more, not ended yet. Their ids are too long for
          a list: each links to this task.
        </p>
      )}
    </>
  );
}

/** Its own component, since the number of queues changes. */
function Follow({ queue, reload }: { readonly queue: string; readonly reload: () => void }): null {
  useTopic(`queue:${encodeURIComponent(queue)}`, reload, reload);
  return null;
}

function inStates(items: readonly Child[]): string {
  const counts = new Map<string, number>();
  for (const { state = NOWHERE } of items) counts.set(state, (counts.get(state) ?? 0) + 1);
  return Array.from(counts, ([state, count]) => `${countText(count)} ${state}`).join(', ');
}

const NOWHERE = 'not in their queue';

function Leaf({ child: { queue, id, name, state } }: { readonly child: Child }): JSX.Element {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <li data-tone={toneOf(state ?? '')}>
      <span class="row">
        {name !== undefined && <span class="wide">{name}</span>}
        <Link class="mono wide" href={hrefOf(['queues', queue, 'tasks', id])}>
          {id}
        </Link>
        <span class="muted">{queue}</span>
        {state === undefined ? (
          <span class="muted" title="It isn't stored yet, or no longer retained.">
            not in its queue
          </span>
        ) : (
          <State tone={toneOf(state)}>{state}</State>
        )}
        <button class="plain" type="button" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          {isOpen ? 'Close' : 'Children'}
        </button>
      </span>
      {isOpen && <OpenBranch queue={queue} id={id} />}
    </li>
  );
}

function OpenBranch(place: Place): JSX.Element {
  return <Branch of={useChildren(place)} parent={place} />;
}
