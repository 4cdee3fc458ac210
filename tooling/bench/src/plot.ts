import { number, RATE } from './report.js';
import type { Result } from './run.js';
import type { Presentation } from './scenario.js';

const WIDTH = 720;
const ROW = 34;
const LABEL = 230;
const BAR = WIDTH - LABEL - 130;

/**
 * Horizontal bars of one figure: median as the bar, min to max as a line; what has no end is as long as the longest of the others.
 * Readable on light and dark pages.
 */
export function plot({ title, competitors }: Result, { drawn = RATE }: Presentation): string {
  const spreads = competitors.map(({ figures }) => figures[drawn]);
  const ends = spreads.map((spread) => spread?.max ?? 0);
  const top = Math.max(0, ...ends.filter((end) => end !== Infinity)) || 1;
  const length = (value: number): number => (BAR * Math.min(value, top)) / top;
  const x = (value: number): string => (LABEL + length(value)).toFixed(1);
  const rows = competitors.flatMap(({ name }, index) => {
    const spread = spreads[index];
    if (!spread) return [];
    const y = 44 + index * ROW;
    return [
      `<text x="${LABEL - 10}" y="${y + 15}" text-anchor="end">${escape(name)}</text>`,
      `<rect x="${LABEL}" y="${y}" width="${length(spread.median).toFixed(1)}" height="20" rx="3" fill="#4f7cac"/>`,
      `<path d="M${x(spread.min)} ${y + 10}H${x(spread.max)}" stroke="#d1763c" stroke-width="2"/>`,
      `<text x="${Number(x(spread.max)) + 8}" y="${y + 15}">${number(spread.median)}</text>`,
    ];
  });
  const height = 54 + competitors.length * ROW;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" font-family="system-ui, sans-serif" font-size="14" fill="#7a7a7a">`,
    `<title>${escape(`${title}: ${drawn}`)}</title>`,
    `<text x="10" y="24" font-weight="600">${escape(`${title}: ${drawn}`)}</text>`,
    ...rows,
    '</svg>',
    '',
  ].join('\n');
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
