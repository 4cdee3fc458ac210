/** What a team looks at first: what waits, what died, what gets done, and how Redis is. */
import type { JSX } from 'preact';
import { useCallback, useState } from 'preact/hooks';

import type { AreaProps } from '../../areas.ts';
import { useTopic } from '../../live.ts';
import type { LiveEvent } from '../../live.ts';
import { hrefOf, Link } from '../../location.ts';
import { useResource } from '../../resource.ts';
import type { Session } from '../../session.ts';
import { mayChange } from '../../session.ts';
import { Empty, Head, Read } from '../../ui/elements.tsx';
import { Table } from '../../ui/table.tsx';
import { countText, plural, rateText } from '../../ui/text.ts';
import { EnqueueButton } from '../queues/enqueue.tsx';
import { PauseAll } from '../queues/pause-all.tsx';
import type { ClusterFigures, NodeFigures } from '@mortise/api/figures';
import { QueueFigures, RedisFigures } from './figures.tsx';
import type { Point } from './line-chart.tsx';
import { LineChart, withNext } from './line-chart.tsx';
import { FirstTask, NO_QUEUE, QUEUE_COLUMNS } from './queue-table.tsx';
import type { Snapshot } from './snapshot.ts';

interface Redis {
  readonly nodes: readonly NodeFigures[];
  readonly cluster: ClusterFigures | null;
}

const STATES = [
  { label: 'ready', color: '--busy' },
  { label: 'active', color: '--good' },
  { label: 'dead', color: '--bad' },
];
const ENDS = [
  { label: 'done', color: '--good' },
  { label: 'failed for good', color: '--bad' },
];

interface Points {
  readonly states: readonly Point[];
  readonly ends: readonly Point[];
}

function withSnapshot({ states, ends }: Points, { at, sums }: Snapshot): Points {
  const { counts, perSecond } = sums;
  return {
    states: withNext(states, { at, values: [counts.ready, counts.active, counts.dead] }),
    ends: withNext(ends, { at, values: [perSecond.succeeded ?? 0, perSecond.dead] }),
  };
}

export default function Overview({ session }: AreaProps): JSX.Element {
  const first = useResource<Snapshot>('overview');
  const [last, setLast] = useState<Snapshot>();
  const [points, setPoints] = useState<Points>({ states: [], ends: [] });
  const onEvent = useCallback((event: LiveEvent) => {
    if (event.type !== 'overview') return;
    const snapshot = event as unknown as Snapshot;
    setLast(snapshot);
    setPoints((before) => withSnapshot(before, snapshot));
  }, []);
  useTopic('overview', onEvent);
  const redis = useRedis(session);
  return (
    <>
      <Head title="Overview">
        {mayChange(session, 'queues:write') && <EnqueueButton />}
        {mayChange(session, 'queues:admin') && <PauseAll />}
      </Head>
      <Read of={{ ...first, value: last ?? first.value }}>
        {(snapshot) => <Shown snapshot={snapshot} points={points} redis={redis} />}
      </Read>
    </>
  );
}

/** The Redis of the deployment, for a session that may see it. */
function useRedis({ scopes, tenant }: Session): Redis | undefined {
  const [redis, setRedis] = useState<Redis>();
  useTopic(
    scopes.includes('ops:read') && tenant === 'default' ? 'redis' : undefined,
    useCallback((event: LiveEvent) => {
      if (event.type === 'redis') setRedis(event as unknown as Redis);
    }, []),
  );
  return redis;
}

interface ShownProps {
  readonly snapshot: Snapshot;
  readonly points: Points;
  readonly redis: Redis | undefined;
}

function Shown({ snapshot, points, redis }: ShownProps): JSX.Element {
  const { queues, total, counted, sums } = snapshot;
  const evicting = redis?.nodes.find(({ policy }) => policy !== null && policy !== 'noeviction');
  return (
    <>
      <div class="grid">
        <QueueFigures {...snapshot} />
        {redis && redis.nodes.length > 0 && <RedisFigures {...redis} />}
      </div>
      {counted < total && (
        <p class="notice">
          The figures are those of the first {countText(counted)} of {countText(total)} queues.
        </p>
      )}
      {sums.paused > 0 && (
        <p class="notice">
          {plural(sums.paused, 'queue is', 'queues are')} paused: workers start none of their tasks.
        </p>
      )}
      {evicting?.policy && (
        <p class="problem" role="alert">
          Redis may evict keys (<code>{evicting.policy}</code>): tasks and locks can vanish. Set{' '}
          <code>maxmemory-policy noeviction</code>. <Link href={hrefOf(['redis'])}>What else to change</Link>
        </p>
      )}
      <div class="columns">
        <LineChart
          title="Tasks since this page was opened"
          label="Tasks by state"
          lines={STATES}
          points={points.states}
          textOf={countText}
        />
        <LineChart
          title="Ends a second, over the last 10 s"
          label="Ends a second"
          lines={ENDS}
          points={points.ends}
          textOf={rateText}
        />
      </div>
      {queues.length === 0 ? (
        <Empty title={NO_QUEUE}>
          <FirstTask />
        </Empty>
      ) : (
        <Table label="Queues" rows={queues} idOf={({ name }) => name} columns={QUEUE_COLUMNS} />
      )}
      {total > queues.length && (
        <p class="muted small">
          The first {queues.length} of {countText(total)} queues.{' '}
          <Link href={hrefOf(['queues'])}>All queues</Link>
        </p>
      )}
    </>
  );
}
