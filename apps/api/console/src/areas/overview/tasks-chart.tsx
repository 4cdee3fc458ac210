/** The tasks of all queues since the page was opened. Snapshots come only when something changes: until then the last one goes on. */
import type { JSX } from 'preact';

import { useNow } from '../../ui/clock.ts';
import { Card } from '../../ui/elements.tsx';
import { LazyChart } from '../../ui/lazy-chart.tsx';
import { countText } from '../../ui/text.ts';

export interface Sums {
  readonly at: number;
  readonly ready: number;
  readonly active: number;
  readonly dead: number;
}

export function TasksChart({ sums }: { readonly sums: readonly Sums[] }): JSX.Element | null {
  const now = useNow();
  const last = sums.at(-1);
  // One instant is no line.
  if (!last || (sums.length === 1 && now <= last.at)) return null;
  const shown = now > last.at ? [...sums, { ...last, at: now }] : sums;
  return (
    <Card title="Tasks since this page was opened">
      <LazyChart
        label="Tasks by state"
        times={shown.map(({ at }) => at)}
        textOf={countText}
        series={[
          { label: 'ready', color: '--busy', values: shown.map((each) => each.ready) },
          { label: 'active', color: '--good', values: shown.map((each) => each.active) },
          { label: 'dead', color: '--bad', values: shown.map((each) => each.dead) },
        ]}
      />
    </Card>
  );
}
