import type { Result, Spread } from './run.js';

/** A Markdown table of the medians, with the spread of the rate, and the bars as met or missed. */
export function table({ competitors, bars }: Result): string {
  const names = [...new Set(competitors.flatMap(({ figures }) => Object.keys(figures)))];
  const head = `| | ${names.map((name) => (name === 'operations/s' ? 'operations/s (min..max)' : name)).join(' | ')} |`;
  const rows = competitors.map(({ name, version, figures }) => {
    const cells = names.map((figure) => cell(figure, figures[figure]));
    return `| ${name} ${version} | ${cells.join(' | ')} |`;
  });
  const lines = [head, `|---|${names.map(() => '---:|').join('')}`, ...rows];
  if (bars.length > 0) {
    lines.push('', ...bars.map((bar) => `- ${bar.isMet ? 'met' : '**missed**'}: ${sentence(bar)}`));
  }
  return lines.join('\n');
}

function sentence(bar: Result['bars'][number]): string {
  const limit = bar.atLeast === undefined ? `≤ ${bar.atMost}` : `≥ ${bar.atLeast}`;
  return `${bar.competitor}, ${bar.figure} ${limit}: ${number(bar.reached)}`;
}

function cell(figure: string, spread: Spread | undefined): string {
  if (!spread) return '–';
  return figure === 'operations/s'
    ? `${number(spread.median)} (${number(spread.min)}..${number(spread.max)})`
    : number(spread.median);
}

function number(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en').replaceAll(',', ' ');
  return value.toFixed(Math.abs(value) >= 100 ? 0 : 2);
}
