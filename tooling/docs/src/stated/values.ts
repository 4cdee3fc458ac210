/** Values of options and settings, as sources and documents write them. */
import type { Value } from '../reference/evaluate.js';

const DAY_MS = 86_400_000;
const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  ms: 1,
  s: 1_000,
  second: 1_000,
  minute: 60_000,
  h: 3_600_000,
  hour: 3_600_000,
  day: DAY_MS,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
};
const UNIT = Object.keys(UNITS)
  .filter((unit) => unit !== '')
  .map((unit) => (unit.length > 2 && !unit.endsWith('iB') ? `${unit}s?` : unit))
  .join('|');
/** `10,000`, `0.5`, `64 KiB`. */
export const NUMBER = String.raw`\d[\d,_]*(?:\.\d+)?(?: (?:${UNIT})\b)?`;

/** An amount in ms or bytes, a literal, or a word; `undefined` if the text is something else. */
export function valueOf(text: string): Value | undefined {
  const bare = text.trim().replace(/^`(.*)`$/, '$1');
  const [, number, unit = ''] = /^(\d[\d,_]*(?:\.\d+)?|an?|one)(?: (\w+))?$/.exec(bare) ?? [];
  if (number !== undefined) {
    const factor = UNITS[unit] ?? UNITS[unit.replace(/s$/, '')];
    const count = /^\d/.test(number) ? Number(number.replace(/[,_]/g, '')) : 1;
    if (factor !== undefined && (/^\d/.test(number) || unit !== '')) return count * factor;
  }
  if (bare === 'true' || bare === 'false') return bare === 'true';
  return /^`.*`$/.test(text.trim()) || /^[\w/.:*-]+$/.test(bare) ? bare : undefined;
}

/** The numbers of a text. One without a unit has that of the number before: `30 days, chats 90`. */
export function amountsIn(text: string): number[] {
  let unit = '';
  return Array.from(text.matchAll(new RegExp(NUMBER, 'g')), ([amount]) => {
    const [number, own] = amount.split(' ') as [string, string | undefined];
    unit = own ?? unit;
    return Number(valueOf(`${number} ${unit}`.trim()));
  });
}
