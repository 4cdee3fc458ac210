/** The tasks of all queues since the page was opened. It is drawn when their numbers change. */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';

import { Card } from '../../ui/elements.tsx';
import { LazyChart } from '../../ui/lazy-chart.tsx';
import { countText } from '../../ui/text.ts';

export interface Sums {
  readonly at: number;
  readonly ready: number;
  readonly active: number;
  readonly dead: number;
}

/** The time from a snapshot to the next. */
const EVERY_MS = 2_000;
/** Ten minutes of changes. */
const MAX_POINTS = 300;

/** The points with one more, unless it has the numbers of the last one. A number stands until the snapshot before its change. */
export function withNext(before: readonly Sums[], next: Sums): readonly Sums[] {
  const last = before.at(-1);
  // One instant is no line.
  if (!last) return [{ ...next, at: next.at - EVERY_MS }, next];
  const isSame = last.ready === next.ready && last.active === next.active && last.dead === next.dead;
  if (isSame) return before;
  const standsUntil = next.at - EVERY_MS;
  const kept = standsUntil > last.at ? [...before, { ...last, at: standsUntil }] : before;
  return [...kept, next].slice(-MAX_POINTS);
}

export function TasksChart({ sums }: { readonly sums: readonly Sums[] }): JSX.Element | null {
  return useMemo(() => {
    if (sums.length === 0) return null;
    return (
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
    );
  }, [sums]);
}
