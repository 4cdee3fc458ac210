/** Numbers of all queues since the page was opened. It is drawn when one of them changes. */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';

import { Card } from '../../ui/elements.tsx';
import { LazyChart } from '../../ui/lazy-chart.tsx';

/** Numbers of one instant, in the order of the lines. */
export interface Point {
  readonly at: number;
  readonly values: readonly number[];
}

interface Line {
  readonly label: string;
  /** A variable of tokens.css. */
  readonly color: string;
}

interface Props {
  readonly title: string;
  readonly label: string;
  readonly lines: readonly Line[];
  readonly points: readonly Point[];
  readonly textOf: (value: number) => string;
}

/** The time from a snapshot to the next. */
const EVERY_MS = 2_000;
/** Ten minutes of changes. */
const MAX_POINTS = 300;

/** The points with one more, unless it has the numbers of the last one. A number stands until the snapshot before its change. */
export function withNext(before: readonly Point[], next: Point): readonly Point[] {
  const last = before.at(-1);
  // One instant is no line.
  if (!last) return [{ ...next, at: next.at - EVERY_MS }, next];
  if (last.values.every((value, index) => value === next.values[index])) return before;
  const standsUntil = next.at - EVERY_MS;
  const kept = standsUntil > last.at ? [...before, { ...last, at: standsUntil }] : before;
  return [...kept, next].slice(-MAX_POINTS);
}

export function LineChart({ title, label, lines, points, textOf }: Props): JSX.Element | null {
  return useMemo(() => {
    if (points.length === 0) return null;
    return (
      <Card title={title}>
        <LazyChart
          label={label}
          times={points.map(({ at }) => at)}
          textOf={textOf}
          series={lines.map((line, index) => ({
            ...line,
            values: points.map(({ values }) => values[index]!),
          }))}
        />
      </Card>
    );
  }, [points]);
}
