import type { Result, Spread } from './result.js';
import type { Presentation } from './scenario.js';

/** The figure that is drawn unless a scenario says otherwise. */
export const RATE = 'operations/s';

/** A Markdown table of the medians, with the spread of the rate and of what is drawn, and the bars as met or missed. */
export function table({ competitors, bars }: Result, { columns, drawn, printed = [] }: Presentation): string {
  const names = columns ?? [...new Set(competitors.flatMap(({ figures }) => Object.keys(figures)))];
  const hasSpread = (figure: string): boolean => figure === RATE || figure === drawn;
  const head = `| | ${names.map((name) => (hasSpread(name) ? `${name} (min..max)` : name)).join(' | ')} |`;
  const rows = competitors.map(({ name, version, figures }) => {
    const cells = names.map((figure) => cell(figures[figure], hasSpread(figure)));
    return `| ${[name, version].join(' ').trim()} | ${cells.join(' | ')} |`;
  });
  const others = printed.map(
    ({ name, figures }) => `| *${name}* | ${names.map((figure) => figures[figure] ?? '').join(' | ')} |`,
  );
  const lines = [head, `|---|${names.map(() => '---:|').join('')}`, ...rows, ...others];
  if (bars.length > 0) lines.push('', ...bars.map((bar) => `- ${verdict(bar)}`));
  return lines.join('\n');
}

/** Such as `met: @mortise/locks, Redis CPU µs ≤ 11: 10.2`. */
export function verdict(bar: Result['bars'][number]): string {
  const limit = bar.atLeast === undefined ? `≤ ${bar.atMost}` : `≥ ${bar.atLeast}`;
  const each = bar.inEachRepeat ? ' in each repeat' : '';
  const { onReference } = bar;
  const isScaled = onReference !== undefined;
  const scale = isScaled ? ` where ${bar.times} has ${number(onReference)}` : ` × ${bar.times}`;
  const times = bar.times === undefined ? '' : scale;
  const unit = bar.times === undefined || isScaled ? '' : ' ×';
  return `${bar.isMet ? 'met' : '**missed**'}: ${bar.competitor}, ${bar.figure} ${limit}${times}${each}: ${number(bar.reached)}${unit}`;
}

/** The figure of a bar, of all that have it: such as `@mortise/locks 10.2, redlock 20.4`. */
export function beside({ figure }: Result['bars'][number], { competitors }: Result): string {
  return competitors
    .filter(({ figures }) => figures[figure])
    .map(({ name, figures }) => `${name} ${number(figures[figure]!.median)}`)
    .join('; ');
}

function cell(spread: Spread | undefined, isWithSpread: boolean): string {
  if (!spread) return '–';
  return isWithSpread
    ? `${number(spread.median)} (${number(spread.min)}..${number(spread.max)})`
    : number(spread.median);
}

/** Three digits or so, thousands apart. */
export function number(value: number): string {
  if (value === Infinity) return '∞';
  if (Number.isNaN(value)) return '–';
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en').replaceAll(',', ' ');
  if (Number.isInteger(value)) return String(value);
  return value.toFixed(Math.abs(value) >= 100 ? 0 : 2);
}
