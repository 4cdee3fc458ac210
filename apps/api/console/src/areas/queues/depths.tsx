/** The waiting tasks of a queue: by priority, and by the time at which they become due. */
import type { JSX } from 'preact';
import { useCallback } from 'preact/hooks';

import { path } from '../../http.ts';
import { useTopic } from '../../live.ts';
import { hrefOf, Link } from '../../location.ts';
import { useResource, useThrottled } from '../../resource.ts';
import { Card, Read, Share } from '../../ui/elements.tsx';
import type { Column } from '../../ui/table.tsx';
import { Table } from '../../ui/table.tsx';
import { countText, durationText, plural } from '../../ui/text.ts';

interface Priority {
  readonly priority: string;
  readonly ready: number;
  readonly scheduled: number;
  readonly retrying: number;
}

interface Span {
  readonly withinMs: number | null;
  readonly tasks: number;
}

interface DepthsView {
  readonly priorities: readonly Priority[];
  readonly inGroups: number;
  readonly due: readonly Span[];
}

const RELOAD_MS = 1_000;
const STATES = ['ready', 'scheduled', 'retrying'] as const;
const PRIORITY_COLUMNS: readonly Column<Priority>[] = [
  { title: 'Priority', cell: ({ priority }) => priority },
  ...STATES.map((state) => ({
    title: state,
    kind: 'number' as const,
    cell: (row: Priority) => countText(row[state]),
  })),
];

export function Depths({ queue }: { readonly queue: string }): JSX.Element {
  const depths = useResource<DepthsView>(path`queues/${queue}/depths`);
  const reload = useThrottled(depths.reload, RELOAD_MS);
  useTopic(
    `queue:${encodeURIComponent(queue)}`,
    useCallback(() => reload(), [reload]),
    depths.reload,
  );
  return (
    <Read of={depths}>
      {({ priorities, inGroups, due }) => (
        <div class="columns">
          <Card title="By priority">
            <Table
              label="By priority"
              rows={priorities}
              idOf={({ priority }) => priority}
              columns={PRIORITY_COLUMNS}
            />
            {inGroups > 0 && (
              <p class="muted small">And {plural(inGroups, 'ready task')} in groups, of all priorities.</p>
            )}
          </Card>
          <Card
            title="When delayed tasks become due"
            actions={
              <button class="plain" type="button" onClick={depths.reload}>
                Read again
              </button>
            }
          >
            <Due spans={due} />
            <p class="muted small">
              <Link href={hrefOf(['queues', queue], { q: 'state:scheduled' })}>Scheduled</Link> and{' '}
              <Link href={hrefOf(['queues', queue], { q: 'state:retrying' })}>retrying</Link> tasks, counted
              now.
            </p>
          </Card>
        </div>
      )}
    </Read>
  );
}

function Due({ spans }: { readonly spans: readonly Span[] }): JSX.Element {
  const most = Math.max(...spans.map(({ tasks }) => tasks));
  const rows = spans.map((span, index) => ({ ...span, text: spanText(spans, index) }));
  return (
    <Table
      label="When delayed tasks become due"
      rows={rows}
      idOf={({ text }) => text}
      columns={[
        { title: 'In', kind: 'fit', cell: ({ text }) => text },
        { title: 'Tasks', kind: 'number', cell: ({ tasks }) => countText(tasks) },
        {
          title: <span class="hidden-text">Share</span>,
          cell: ({ tasks, text }) => (
            <Share of={most} used={tasks} label={`${plural(tasks, 'task')}, ${text}`} />
          ),
        },
      ]}
    />
  );
}

/** Such as `up to 1 min`, `1 min to 5 min`, `more than 1 d`. */
function spanText(spans: readonly Span[], index: number): string {
  const [from, { withinMs: upTo }] = [spans[index - 1]?.withinMs ?? 0, spans[index]!];
  if (upTo === null) return `more than ${durationText(from)}`;
  return from === 0 ? `up to ${durationText(upTo)}` : `${durationText(from)} to ${durationText(upTo)}`;
}
