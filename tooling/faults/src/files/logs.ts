/** Logs of some days, plain and gzip, and the counts of a single pass over them, by code of its own. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';

/** Lines by dimension and member. */
export interface DayTotals {
  total: number;
  readonly country: Record<string, number>;
  readonly region: Record<string, number>;
  readonly city: Record<string, number>;
}

/** More than a checkpoint adds with its first segment. */
const CITIES = 2_500;
const COUNTRIES = 12;
const REGIONS = 60;
const DAYS = 5;
const DAY_MS = 86_400_000;
/** Longer than a chunk, and than a line may be that is counted. */
const LONG_LINE_BYTES = 70_000;

/** Lines of files with checkpoints of several segments, and of files with less than a checkpoint. */
const MANY_LINES = 12_000;
const FEW_LINES = 2_000;

const KINDS = ['lines.log', 'log.gz', 'blocks.log'] as const;

/** Networks of IPv4 and, every fifth city, one of IPv6. */
export function rangesCsv(): string {
  const rows = Array.from({ length: CITIES }, (_, city) => {
    const net = `10.${city >> 8}.${city & 255}`;
    const { country, region, name } = placeOf(city);
    const row = `${net}.0,${net}.255,${country},${region},${name}\n`;
    if (city % 5 > 0) return row;
    const net6 = `2001:db8:${city.toString(16)}`;
    return `${row}${net6}::,${net6}:ffff:ffff:ffff:ffff:ffff,${country},${region},${name}\n`;
  });
  return `start,end,country,region,city\n${rows.join('')}`;
}

/** Writes the logs, each fourth of them a larger one. Their names sort in the order of their numbers. */
export function writeLogs(directory: string, files: number): void {
  const now = Date.now();
  for (let file = 0; file < files; file += 1) {
    const kind = KINDS[file % KINDS.length]!;
    const text = textOf(now, file, file % 4 === 0 ? MANY_LINES : FEW_LINES, kind);
    const path = join(directory, `access-${String(file).padStart(3, '0')}.${kind}`);
    writeFileSync(path, kind === 'log.gz' ? gzipped(text) : text);
  }
}

function textOf(now: number, file: number, lines: number, kind: (typeof KINDS)[number]): Buffer {
  const texts = Array.from({ length: lines }, (_, line) => {
    const number = Math.floor(Math.random() * CITIES * 1.05);
    const at = new Date(now - DAY_MS * (1 + ((file + Math.floor((2 * line) / lines)) % DAYS)));
    const stamp = at.toISOString().slice(0, 19).replace('T', ' ');
    if (line % 1_000 === 500) return `a line that is none ${line}\n`;
    if (line === 700 && file % 4 === 0) return `10.0.0.1 ${stamp} ${'x'.repeat(LONG_LINE_BYTES)}\n`;
    return `${addressOf(number, line)} ${stamp} GET /item/${Math.floor(Math.random() * 1_000)}\n`;
  });
  const whole = Buffer.from(texts.join(''));
  // The writer was interrupted within the last line.
  return kind === 'blocks.log' ? whole.subarray(0, -1) : whole;
}

/** Numbers without a city are addresses in no network. */
function addressOf(number: number, line: number): string {
  if (number % 5 === 0 && line % 3 === 0)
    return `2001:db8:${number.toString(16)}::${(line % 999).toString(16)}`;
  return `10.${number >> 8}.${number & 255}.${line % 256}`;
}

/** Several members, as in logs that were appended to. */
function gzipped(text: Buffer): Buffer {
  const middle = Math.floor(text.length / 3);
  return Buffer.concat([gzipSync(text.subarray(0, middle)), gzipSync(text.subarray(middle))]);
}

interface Named {
  readonly country: string;
  readonly region: string;
  readonly name: string;
}

function placeOf(city: number): Named {
  const region = city % REGIONS;
  return {
    country: `C${String.fromCharCode(65 + (region % COUNTRIES))}`,
    region: `Region ${region}`,
    name: `City ${city}`,
  };
}

/** One pass over all logs, from disk. */
export function countOnce(directory: string): Map<string, DayTotals> {
  const days = new Map<string, DayTotals>();
  for (const name of readdirSync(directory)) {
    const bytes = readFileSync(join(directory, name));
    const text = (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('latin1');
    for (const line of text.split('\n')) {
      const match = /^([\da-f.:]+) (\d{4}-\d\d-\d\d) \d\d:\d\d:\d\d \S/.exec(line);
      if (!match || line.length > 65_536) continue;
      let day = days.get(match[2]!);
      if (!day) days.set(match[2]!, (day = { total: 0, country: {}, region: {}, city: {} }));
      add(day, cityOf(match[1]!));
    }
  }
  return days;
}

function cityOf(address: string): number {
  if (address.includes(':')) return Number.parseInt(address.split(':')[2]!, 16);
  const [, second, third] = address.split('.').map(Number);
  return second! * 256 + third!;
}

function add(day: DayTotals, city: number): void {
  const { country, region, name } = city < CITIES ? placeOf(city) : { country: 'ZZ', region: '', name: '' };
  day.total += 1;
  for (const [totals, member] of [
    [day.country, country],
    [day.region, `${country}/${region}`],
    [day.city, `${country}/${region}/${name}`],
  ] as const) {
    totals[member] = (totals[member] ?? 0) + 1;
  }
}
