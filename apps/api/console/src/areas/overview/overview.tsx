/** What a team looks at first: what waits, what died, and how Redis is. */
import type { JSX } from 'preact';
import { useCallback, useState } from 'preact/hooks';

import type { AreaProps } from '../../areas.ts';
import { useTopic } from '../../live.ts';
import type { LiveEvent } from '../../live.ts';
import { hrefOf, Link } from '../../location.ts';
import { useResource } from '../../resource.ts';
import { LazyChart } from '../../ui/lazy-chart.tsx';
import { Card, Figure, Head, Read } from '../../ui/parts.tsx';
import { bytesText, countText, durationText } from '../../ui/text.ts';
import type { TaskState } from '../queues/states.ts';
import { QueueLink, QueueTable } from './queue-table.tsx';
import type { QueueOverview } from './queue-table.tsx';

interface RedisOverview {
  readonly usedBytes: number;
  readonly maxBytes: number;
  readonly policy: string | null;
  readonly opsPerSecond: number;
  readonly connectedClients: number;
}

interface Snapshot {
  readonly at: number;
  /** How many queues there are. */
  readonly total: number;
  /** The first of them. */
  readonly queues: readonly QueueOverview[];
  readonly redis?: RedisOverview | null;
}

interface Sums {
  readonly at: number;
  readonly ready: number;
  readonly active: number;
  readonly dead: number;
}

/** Ten minutes of a snapshot every two seconds. */
const MAX_POINTS = 300;

export default function Overview({ session }: AreaProps): JSX.Element {
  const first = useResource<Snapshot>('overview');
  const [last, setLast] = useState<Snapshot>();
  const [sums, setSums] = useState<readonly Sums[]>([]);
  const onEvent = useCallback((event: LiveEvent) => {
    if (event.type !== 'overview') return;
    const snapshot = event as unknown as Snapshot;
    setLast(snapshot);
    setSums((before) => [...before, sumsOf(snapshot)].slice(-MAX_POINTS));
  }, []);
  useTopic('overview', onEvent);
  const snapshot = last ?? first.value;
  return (
    <>
      <Head title="Overview" />
      <Read of={{ ...first, value: snapshot }}>
        {(shown) => <Shown snapshot={shown} sums={sums} mayReadRedis={session.scopes.includes('ops:read')} />}
      </Read>
    </>
  );
}

function sumsOf({ at, queues }: Snapshot): Sums {
  const of = (state: TaskState): number => queues.reduce((sum, { counts }) => sum + counts[state], 0);
  return { at, ready: of('ready'), active: of('active'), dead: of('dead') };
}

interface ShownProps {
  readonly snapshot: Snapshot;
  readonly sums: readonly Sums[];
  readonly mayReadRedis: boolean;
}

function Shown({ snapshot, sums, mayReadRedis }: ShownProps): JSX.Element {
  const { queues, total, redis } = snapshot;
  const { ready, active, dead } = sumsOf(snapshot);
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
          note={dead > 0 ? 'open a queue to see why' : 'nothing failed for good'}
        />
        {redis && (
          <Figure
            label="Memory of Redis"
            value={bytesText(redis.usedBytes)}
            note={redis.maxBytes > 0 ? `of ${bytesText(redis.maxBytes)}` : 'no limit is set'}
          />
        )}
        {redis && (
          <Figure
            label="Commands a second"
            value={countText(redis.opsPerSecond)}
            note={`${countText(redis.connectedClients)} clients`}
          />
        )}
      </div>
      {redis?.policy && redis.policy !== 'noeviction' && (
        <p class="problem" role="alert">
          Redis may evict keys (<code>{redis.policy}</code>): tasks and locks can vanish. Set{' '}
          <code>maxmemory-policy noeviction</code>.{' '}
          {mayReadRedis && <Link href={hrefOf(['redis'])}>What else to change</Link>}
        </p>
      )}
      {sums.length > 1 && (
        <Card title="Tasks since this page was opened">
          <LazyChart
            label="Tasks by state"
            times={sums.map(({ at }) => at)}
            textOf={countText}
            series={[
              { label: 'ready', color: '--busy', values: sums.map((each) => each.ready) },
              { label: 'active', color: '--good', values: sums.map((each) => each.active) },
              { label: 'dead', color: '--bad', values: sums.map((each) => each.dead) },
            ]}
          />
        </Card>
      )}
      <QueueTable queues={queues} total={total} />
    </>
  );
}
