/** One process that counts a log by day and city, in one of several ways. */
import { LineCounter, MalformedLines } from '@mortise/messaging/log-aggregation';
import { type CityResponse, Reader } from 'maxmind';
import { makeLog } from './log.js';
import { mmdbOf } from './mmdb.js';
import { makeNetworks, tableOf } from './networks.js';

export type Way = 'bytes' | 'strings' | 'maxmind';

interface Preparing {
  readonly way: Way;
  readonly ranges: number;
  readonly lines: number;
}

const BLOCK_BYTES = 1_048_576;
const NEWLINE = 10;

let count: () => number;

async function prepare({ way, ranges, lines }: Preparing): Promise<void> {
  const networks = makeNetworks(ranges);
  const log = makeLog(lines);
  if (way === 'bytes') {
    const table = tableOf(networks);
    count = () => {
      const limits = { maxLineBytes: 65_536, maxKeys: 10_000_000, window: { first: 0, last: 99_991_231 } };
      const counter = new LineCounter(table, limits, new MalformedLines());
      for (let at = 0; at < log.length;) {
        const end = log.lastIndexOf(NEWLINE, Math.min(log.length, at + BLOCK_BYTES) - 1) + 1;
        while (at < end) {
          at = counter.count(log, at, end, 0);
          if (counter.missingDay !== 0) counter.open(counter.missingDay, 0);
        }
      }
      return Array.from(counter.days).reduce((sum, day) => sum + day.lines, 0);
    };
  } else if (way === 'strings') {
    const table = tableOf(networks);
    count = () =>
      countStrings(log, (ip) => {
        const [a, b, c, d] = ip.split('.').map(Number) as [number, number, number, number];
        return table.places.cities[table.find4(a * 2 ** 24 + (b << 16) + (c << 8) + d)]!;
      });
  } else {
    const reader = new Reader<CityResponse>(mmdbOf(networks));
    count = () =>
      countStrings(log, (ip) => {
        const found = reader.get(ip)!;
        return `${found.country!.iso_code}/${found.subdivisions![0]!.names.en}/${found.city!.names.en}`;
      });
  }
}

/** The plain way, without care for speed. */
function countStrings(log: Buffer, find: (ip: string) => string): number {
  const days = new Map<string, Map<string, number>>();
  for (let at = 0; at < log.length;) {
    const end = log.lastIndexOf(NEWLINE, Math.min(log.length, at + BLOCK_BYTES) - 1) + 1;
    for (const line of log.toString('latin1', at, end - 1).split('\n')) {
      const [ip, day, time, event] = line.split(' ');
      if (event === undefined || time === undefined) continue;
      let counts = days.get(day!);
      if (counts === undefined) days.set(day!, (counts = new Map()));
      const place = find(ip!);
      counts.set(place, (counts.get(place) ?? 0) + 1);
    }
    at = end;
  }
  const counts = Array.from(days.values()).flatMap((day) => Array.from(day.values()));
  return counts.reduce((sum, each) => sum + each, 0);
}

/** Lines that were counted. */
async function run({ passes }: { readonly passes: number }): Promise<number> {
  let lines = 0;
  for (let pass = 0; pass < passes; pass += 1) lines += count();
  return lines;
}

const actions = { prepare, run };

export type CountActions = typeof actions;
export default actions;
