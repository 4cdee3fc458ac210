/** The numbers at the top of the overview. */
import type { JSX } from 'preact';

import { hrefOf, Link } from '../../location.ts';
import { Figure } from '../../ui/elements.tsx';
import { bytesText, countText, durationText, plural, rateText } from '../../ui/text.ts';
import type { ClusterFigures, NodeFigures } from '@mortise/api/figures';
import { QueueLink } from './queue-table.tsx';
import type { Snapshot } from './snapshot.ts';

/** Of a Cluster. */
const SLOTS = 16_384;

export function QueueFigures({ sums, workers }: Snapshot): JSX.Element {
  const { counts, perSecond, oldest, deadliest } = sums;
  return (
    <>
      <Figure
        label="Ready tasks"
        value={countText(counts.ready)}
        note={`${countText(counts.active)} active`}
      />
      <Figure
        label="Done a second"
        value={perSecond.succeeded === null ? '–' : rateText(perSecond.succeeded)}
        note={perSecond.dead > 0 ? `${rateText(perSecond.dead)} failed for good` : 'none failed for good'}
      />
      <Figure
        label="Oldest ready task"
        value={oldest ? durationText(oldest.headAgeMs) : '–'}
        note={oldest ? <QueueLink name={oldest.name} /> : 'nothing waits'}
      />
      <Figure
        label="Dead tasks"
        value={countText(counts.dead)}
        note={
          deadliest ? (
            <Link href={hrefOf(['queues', deadliest.name], { q: 'state:dead' })}>why: {deadliest.name}</Link>
          ) : (
            'nothing failed for good'
          )
        }
      />
      {workers !== null && (
        <Figure label="Workers" value={countText(workers)} note={workers > 0 ? 'running' : 'none runs'} />
      )}
    </>
  );
}

function sumOf(nodes: readonly NodeFigures[], of: (node: NodeFigures) => number | null): number {
  return nodes.reduce((sum, node) => sum + (of(node) ?? 0), 0);
}

interface RedisProps {
  readonly nodes: readonly NodeFigures[];
  readonly cluster: ClusterFigures | null;
}

export function RedisFigures({ nodes, cluster }: RedisProps): JSX.Element {
  const maxBytes = sumOf(nodes, (node) => node.maxBytes);
  const clients = sumOf(nodes, (node) => node.clients);
  const evicted = sumOf(nodes, ({ evictedKeys }) => evictedKeys);
  return (
    <>
      <Figure
        label="Memory of Redis"
        value={bytesText(sumOf(nodes, ({ usedBytes }) => usedBytes))}
        note={maxBytes > 0 ? `of ${bytesText(maxBytes)}` : 'no limit is set'}
      />
      <Figure
        label="Evicted keys"
        value={countText(evicted)}
        note={evicted > 0 ? <Link href={hrefOf(['redis'])}>tasks may be lost</Link> : 'since Redis started'}
      />
      <Figure
        label="Commands a second"
        value={countText(sumOf(nodes, ({ opsPerSecond }) => opsPerSecond))}
        note={plural(clients, 'client')}
      />
      {cluster && (
        <Figure
          label="Slots of the Cluster"
          value={
            cluster.slotsCovered === SLOTS
              ? 'all'
              : `${countText(cluster.slotsCovered)} of ${countText(SLOTS)}`
          }
          note={`${plural(cluster.masters, 'master')}${cluster.isOk ? '' : ', not working'}`}
        />
      )}
    </>
  );
}
