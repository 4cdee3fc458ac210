/** The tasks of a queue by a filter, and what can be done to some or all of them. */
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';

import { path, withQuery } from '../../http.ts';
import { useTopic } from '../../live.ts';
import { go, hrefOf, Link, setQuery, usePlace } from '../../location.ts';
import { useResource, useThrottled } from '../../resource.ts';
import type { Session } from '../../session.ts';
import { mayChange } from '../../session.ts';
import { usePages } from '../../ui/pages.ts';
import { Empty, Skeleton, State, Time, Trouble } from '../../ui/elements.tsx';
import type { Column } from '../../ui/table.tsx';
import { Table } from '../../ui/table.tsx';
import { countText } from '../../ui/text.ts';
import { BulkActions } from './bulk.tsx';
import type { Filter } from './filter.ts';
import { fieldsOf, filterText, parseFilter } from './filter.ts';
import { FilterBar } from './filter-bar.tsx';
import { STATES, toneOf } from './states.ts';
import type { TaskState } from './states.ts';
import type { QueueView, TaskSummary, TaskView } from './types.ts';

interface Props {
  readonly view: QueueView;
  readonly session: Session;
}

const PAGE = 50;
const RELOAD_MS = 1_000;

/** Columns that tasks of some states have. */
const FAILED: ReadonlySet<TaskState> = new Set(['dead', 'retrying', 'cancelled']);
const ENDED: ReadonlySet<TaskState> = new Set(['succeeded', 'dead', 'cancelled']);
const DELAYED: ReadonlySet<TaskState> = new Set(['scheduled', 'retrying']);
const ERROR: Column<TaskSummary> = {
  title: 'Error',
  cell: ({ error }) => error && <span class="wide">{`${error.name}: ${error.message}`}</span>,
};
const END: Column<TaskSummary> = {
  title: 'Ended',
  kind: 'fit',
  cell: ({ finishedAt }) => <Time at={finishedAt} />,
};
const DUE: Column<TaskSummary> = { title: 'Due', kind: 'fit', cell: ({ runAt }) => <Time at={runAt} /> };

export function Tasks({ view, session }: Props): JSX.Element {
  const { name: queue, counts } = view;
  const { query } = usePlace();
  const text = query.get('q') ?? '';
  const filter = useMemo(() => parseFilter(text), [text]);
  const pages = usePages<TaskSummary>(listAddress(queue, filter));
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const known = useKnown(queue, pages.items);
  const follow = useThrottled(pages.refresh, RELOAD_MS);
  useTopic(`queue:${encodeURIComponent(queue)}`, follow, follow);
  const apply = (next: string): void => {
    const { id } = parseFilter(next);
    if (id !== undefined) return go(hrefOf(['queues', queue, 'tasks', id]));
    setSelected(new Set());
    setQuery({ q: next }, 'push');
  };
  const { items } = pages;
  const mayOperate = mayChange(session, 'queues:admin') && mayChange(session, 'queues:write');
  const shown = new Set((items ?? []).map(({ id }) => id));
  const ids = [...selected].filter((id) => shown.has(id));
  return (
    <div class="stack">
      <nav class="chips" aria-label="States">
        {STATES.map((state) => (
          <Link
            key={state}
            href={hrefOf(['queues', queue], { q: filterText({ ...filter, state }) })}
            aria-current={state === filter.state ? 'true' : undefined}
          >
            <State tone={toneOf(state)}>{state}</State> <span class="number">{countText(counts[state])}</span>
          </Link>
        ))}
      </nav>
      <FilterBar text={text} known={known} apply={apply} />
      {filter.unknown.length > 0 && (
        <p class="problem" role="alert">
          Not understood: <code>{filter.unknown.join(' ')}</code>. A filter has <code>state:</code>,{' '}
          <code>name:</code>, <code>payload.member:</code> and <code>id:</code>, each once.
        </p>
      )}
      {pages.error && <Trouble error={pages.error} />}
      {/* The actions stay in sight within the list: they never cover the states and the filter. */}
      <div class="stack">
        {items === undefined && !pages.error && <Skeleton />}
        {items?.length === 0 && !pages.more && <None filter={filter} />}
        {items && items.length > 0 && (
          <TaskTable
            queue={queue}
            state={filter.state}
            tasks={items}
            selection={mayOperate ? { ids: selected, change: setSelected } : undefined}
          />
        )}
        <div class="row">
          {pages.more && (
            <button type="button" onClick={pages.more}>
              More
            </button>
          )}
          {pages.isCapped && (
            <span class="muted small">
              This page ends after 1,000 tasks were looked at. There may be more of them.
            </span>
          )}
        </div>
        {mayOperate && (
          <BulkActions
            view={view}
            filter={filter}
            ids={ids}
            done={() => {
              setSelected(new Set());
              pages.reload();
            }}
          />
        )}
      </div>
    </div>
  );
}

function listAddress(queue: string, { state, name, field, equals }: Filter): string {
  return withQuery(path`queues/${queue}/tasks`, { state, name, field, equals, limit: PAGE });
}

/** Names that workers handle or that are shown, and the members of the payload of the first task. */
function useKnown(queue: string, items: readonly TaskSummary[] | undefined) {
  const handled = useResource<{ items: { name: string }[] }>(path`queues/${queue}/task-names`);
  const first = items?.[0]?.id;
  const example = useResource<TaskView>(
    first === undefined ? undefined : withQuery(path`queues/${queue}/tasks/${first}`, { maxBytes: 16_384 }),
  );
  return useMemo(() => {
    const names = [...(handled.value?.items ?? []), ...(items ?? [])].map(({ name }) => name);
    return { names: [...new Set(names)], fields: fieldsOf(example.value?.payload) };
  }, [handled.value, items, example.value]);
}

function None({ filter: { state, name, field } }: { readonly filter: Filter }): JSX.Element {
  const isNarrow = name !== undefined || field !== undefined;
  return (
    <Empty title={isNarrow ? 'No task matches the filter.' : `No task is ${state}.`}>
      <span>
        {isNarrow
          ? 'The filter looks at one state at a time: choose another one above.'
          : 'Choose another state above.'}
      </span>
    </Empty>
  );
}

function TaskTable(props: {
  readonly queue: string;
  readonly state: TaskState;
  readonly tasks: readonly TaskSummary[];
  readonly selection: Parameters<typeof Table>[0]['selection'];
}): JSX.Element {
  return (
    <Table
      label="Tasks"
      rows={props.tasks}
      idOf={({ id }) => id}
      selection={props.selection}
      columns={[
        {
          title: 'Task',
          cell: ({ id }) => (
            <Link class="mono wide" href={hrefOf(['queues', props.queue, 'tasks', id])}>
              {id}
            </Link>
          ),
        },
        { title: 'Name', cell: ({ name }) => <span class="wide">{name}</span> },
        ...(FAILED.has(props.state) ? [ERROR] : []),
        { title: 'Priority', kind: 'fit', cell: ({ priority }) => priority },
        {
          title: 'Attempt',
          kind: 'number',
          cell: ({ attempt, attempts }) => `${attempt} / ${attempts}`,
        },
        { title: 'Enqueued', kind: 'fit', cell: ({ enqueuedAt }) => <Time at={enqueuedAt} /> },
        ...(ENDED.has(props.state) ? [END] : []),
        ...(DELAYED.has(props.state) ? [DUE] : []),
      ]}
    />
  );
}
