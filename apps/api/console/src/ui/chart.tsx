/** Lines over time. The colours come from the style of the page, since a canvas has none; a table has the same figures. */
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

import { instantText } from './text.ts';

interface Series {
  readonly label: string;
  /** A variable of tokens.css. */
  readonly color: string;
  readonly values: readonly number[];
}

interface Props {
  readonly label: string;
  /** ms since the epoch. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly textOf: (value: number) => string;
  /** One bar for each time, with this text. Default: lines, and the time of day. */
  readonly dayOf?: (at: number) => string;
}

const HEIGHT = 180;
const SECOND_MS = 1_000;
const AXIS_WIDTH = 64;
const LABEL_WIDTH = 90;
const HEADROOM = 1.15;
const CLOCK = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const SHOWN_ROWS = 20;
const DAY_S = 86_400;
const DAY_STEPS_S = [1, 2, 7].map((days) => days * DAY_S);
const TIME_STEPS_S = [1, 2, 5, 10, 30, 60, 120, 300, 600];
/** Counts have no half. */
const WHOLE_STEPS = Array.from({ length: 13 }, (_, power) =>
  [1, 2, 5].map((step) => step * 10 ** power),
).flat();
const BARS = UPlot.paths.bars!({ size: [0.7, 40] });

export default function Chart(props: Props): JSX.Element {
  const { label, times, series, textOf, dayOf = instantText } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | undefined>(undefined);
  const shape = series.map((each) => each.label).join('\n');
  useEffect(() => {
    const element = place.current!;
    const draw = (): void => {
      plot.current?.destroy();
      plot.current = new UPlot(optionsOf(element, props), dataOf(props), element);
      showLast(plot.current);
    };
    draw();
    // The observer also begins with a call.
    const sized = new ResizeObserver(() => {
      const width = element.clientWidth;
      if (plot.current?.width !== width) plot.current?.setSize({ width, height: HEIGHT });
    });
    sized.observe(element);
    // A canvas keeps the colours that it was drawn with.
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', draw);
    const chosen = new MutationObserver(draw);
    chosen.observe(document.documentElement, { attributeFilter: ['data-scheme'] });
    return () => {
      sized.disconnect();
      chosen.disconnect();
      scheme.removeEventListener('change', draw);
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [shape]);
  useEffect(() => {
    plot.current?.setData(dataOf(props));
    showLast(plot.current!);
  }, [times, series]);
  return (
    <figure class="chart">
      <div class="plot" ref={place} role="img" aria-label={`${label}; the table below has its figures`} />
      <details>
        <summary>{label} as a table</summary>
        <div class="scroll" role="region" aria-label={label} tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">Time</th>
                {series.map((each) => (
                  <th class="number" scope="col" key={each.label}>
                    {each.label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {lastIndexes(times).map((index) => (
                <tr key={times[index]}>
                  <td>{dayOf(times[index]!)}</td>
                  {series.map((each) => (
                    <td class="number" key={each.label}>
                      {textOf(each.values[index] ?? 0)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  );
}

/** The legend has the figures below the pointer, and without a pointer the last ones. */
function showLast(plot: UPlot): void {
  if (typeof plot.cursor.idx !== 'number') plot.setLegend({ idx: plot.data[0].length - 1 });
}

function lastIndexes({ length }: { readonly length: number }): number[] {
  return Array.from({ length: Math.min(length, SHOWN_ROWS) }, (_, index) => length - 1 - index);
}

function dataOf({ times, series }: Props): UPlot.AlignedData {
  return [times.map((at) => at / SECOND_MS), ...series.map(({ values }) => [...values])] as UPlot.AlignedData;
}

function optionsOf(element: HTMLElement, { series, textOf, dayOf }: Props): UPlot.Options {
  const colorOf = (name: string): string => resolved(element, name);
  const axis = {
    stroke: colorOf('--muted'),
    grid: { stroke: colorOf('--line'), width: 1 },
    ticks: { show: false },
  };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    cursor: { points: { show: false } },
    hooks: { setCursor: [showLast] },
    // Half a day beside the first and the last bar.
    scales: {
      ...(dayOf && {
        x: { range: (_plot: UPlot, min: number, max: number) => [min - DAY_S / 2, max + DAY_S / 2] },
      }),
      y: { range: (_plot, _min, max) => [0, Math.max(1, max * HEADROOM)] },
    },
    axes: [
      {
        ...axis,
        space: LABEL_WIDTH,
        values: (_plot, splits) =>
          splits.map((at) => (dayOf ? dayOf(at * SECOND_MS) : CLOCK.format(at * SECOND_MS))),
        // A step of less than a second would repeat its text.
        incrs: dayOf ? DAY_STEPS_S : TIME_STEPS_S,
      },
      { ...axis, size: AXIS_WIDTH, incrs: WHOLE_STEPS, values: (_plot, values) => values.map(textOf) },
    ],
    series: [
      { value: (_plot, at) => (at === null ? '–' : (dayOf ?? instantText)(at * SECOND_MS)) },
      ...series.map(({ label, color }) => ({
        label,
        stroke: colorOf(color),
        ...(dayOf
          ? { fill: colorOf(color), width: 0, paths: BARS, points: { show: false } }
          : { width: 2, points: { show: false } }),
        value: (_plot: UPlot, value: number | null) => (value === null ? '–' : textOf(value)),
      })),
    ],
  };
}

/** The colour that a variable has in the scheme of now: light-dark() is no colour for a canvas. */
function resolved(element: HTMLElement, name: string): string {
  element.style.color = `var(${name})`;
  const { color } = getComputedStyle(element);
  element.style.color = '';
  return color;
}
