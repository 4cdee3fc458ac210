/** What a team looks at first: what waits, what died, and how Redis is. */
import type { JSX } from 'preact';
import { useCallback, useState } from 'preact/hooks';

import type { AreaProps } from '../../areas.ts';
import { useTopic } from '../../live.ts';
import type { LiveEvent } from '../../live.ts';
import { hrefOf, Link } from '../../location.ts';
import { useResource } from '../../resource.ts';
import { Figure, Head, Read } from '../../ui/elements.tsx';
import { bytesText, countText, durationText, plural } from '../../ui/text.ts';
import { mayChange } from '../../session.ts';
import { EnqueueButton } from '../queues/enqueue.tsx';
import type { TaskState } from '../queues/states.ts';
import type { NodeFigures } from '../redis/redis.tsx';
import { QueueLink, QueueTable } from './queue-table.tsx';
import type { QueueOverview } from './queue-table.tsx';
import { TasksChart, withNext } from './tasks-chart.tsx';
import type { Sums } from './tasks-chart.tsx';

interface Snapshot {
  readonly at: number;
  /** How many queues there are. */
  readonly total: number;
  /** The first of them. */
  readonly queues: readonly QueueOverview[];
}

export default function Overview({ session }: AreaProps): JSX.Element {
  const first = useResource<Snapshot>('overview');
  const [last, setLast] = useState<Snapshot>();
  const [sums, setSums] = useState<readonly Sums[]>([]);
  const onEvent = useCallback((event: LiveEvent) => {
    if (event.type !== 'overview') return;
    const snapshot = event as unknown as Snapshot;
    setLast(snapshot);
    setSums((before) => withNext(before, sumsOf(snapshot)));
  }, []);
  useTopic('overview', onEvent);
  const [nodes, setNodes] = useState<readonly NodeFigures[]>([]);
  useTopic(
    session.scopes.includes('ops:read') && session.tenant === 'default' ? 'redis' : undefined,
    useCallback((event: LiveEvent) => {
      if (event.type === 'redis') setNodes(event['nodes'] as readonly NodeFigures[]);
    }, []),
  );
  const snapshot = last ?? first.value;
  return (
    <>
      <Head title="Overview">{mayChange(session, 'queues:write') && <EnqueueButton />}</Head>
      <Read of={{ ...first, value: snapshot }}>
        {(shown) => <Shown snapshot={shown} sums={sums} nodes={nodes} />}
      </Read>
    </>
  );
}

function sumsOf({ at, queues }: Snapshot): Sums {
  const of = (state: TaskState): number => queues.reduce((sum, { counts }) => sum + counts[state], 0);
  return { at, ready: of('ready'), active: of('active'), dead: of('dead') };
}

function sumOf(nodes: readonly NodeFigures[], of: (node: NodeFigures) => number | null): number {
  return nodes.reduce((sum, node) => sum + (of(node) ?? 0), 0);
}

interface ShownProps {
  readonly snapshot: Snapshot;
  readonly sums: readonly Sums[];
  readonly nodes: readonly NodeFigures[];
}

function Shown({ snapshot, sums, nodes }: ShownProps): JSX.Element {
  const { queues, total } = snapshot;
  const { ready, active, dead } = sumsOf(snapshot);
  const maxBytes = sumOf(nodes, (node) => node.maxBytes);
  const evicting = nodes.find(({ policy }) => policy !== null && policy !== 'noeviction');
  const [deadliest] = queues
    .filter(({ counts }) => counts.dead > 0)
    .toSorted((a, b) => b.counts.dead - a.counts.dead);
  const oldest = queues.reduce<QueueOverview | undefined>(
    (most, each) => ((each.headAgeMs ?? -1) > (most?.headAgeMs ?? -1) ? each : most),
    undefined,
  );
  return (
    <>
      <div class="grid">
        <Figure label="Ready tasks" value={countText(ready)} note={`${countText(active)} active`} />
        <Figure
          label="Oldest ready task"
          value={oldest?.headAgeMs === null || !oldest ? '–' : durationText(oldest.headAgeMs)}
          note={oldest?.headAgeMs === null || !oldest ? 'nothing waits' : <QueueLink name={oldest.name} />}
        />
        <Figure
          label="Dead tasks"
          value={countText(dead)}
          note={
            deadliest ? (
              <Link href={hrefOf(['queues', deadliest.name], { q: 'state:dead' })}>
                why: {deadliest.name}
              </Link>
            ) : (
              'nothing failed for good'
            )
          }
        />
        {nodes.length > 0 && (
          <Figure
            label="Memory of Redis"
            value={bytesText(sumOf(nodes, ({ usedBytes }) => usedBytes))}
            note={maxBytes > 0 ? `of ${bytesText(maxBytes)}` : 'no limit is set'}
          />
        )}
        {nodes.length > 0 && (
          <Figure
            label="Commands a second"
            value={countText(sumOf(nodes, ({ opsPerSecond }) => opsPerSecond))}
            note={plural(
              sumOf(nodes, ({ clients }) => clients),
              'client',
            )}
          />
        )}
      </div>
      {queues.length < total && (
        <p class="notice">
          The figures are those of the first {countText(queues.length)} of {countText(total)} queues.
        </p>
      )}
      {evicting?.policy && (
        <p class="problem" role="alert">
          Redis may evict keys (<code>{evicting.policy}</code>): tasks and locks can vanish. Set{' '}
          <code>maxmemory-policy noeviction</code>. <Link href={hrefOf(['redis'])}>What else to change</Link>
        </p>
      )}
      <TasksChart sums={sums} />
      <QueueTable queues={queues} total={total} />
    </>
  );
}
