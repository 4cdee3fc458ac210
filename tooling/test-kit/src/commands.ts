/**
 * Transcripts for inline snapshots, a line for each command that a client sends. The name of a script is followed by the
 * commands inside it, and repetitions are counted: `queue.enqueue:  time · (hget tasks · hset tasks) ×3`.
 */
import type { Redis } from 'ioredis';
import type { TranscriptScope } from './transcript.js';
import { transcript } from './transcript.js';

const MAX_PERIOD = 12;

export interface CommandsScope extends TranscriptScope {
  /** `outside` leaves out the commands inside scripts. Default: all. */
  readonly show?: 'outside' | 'all';
  /** Changes lines before they are compressed, such as generated ids in keys, or drops them. */
  readonly edit?: (lines: readonly string[]) => readonly string[];
}

/** The commands of an action. Keys have neither the prefix nor `<package>:{<entity>}:`, and scripts have no keys. */
export async function commands(
  redis: Redis,
  scope: CommandsScope,
  action: () => Promise<unknown>,
): Promise<string> {
  const { show = 'all', edit = (lines) => lines } = scope;
  const lines = (await transcript(redis, scope, action)).filter(
    (line) => show === 'all' || !line.startsWith(' '),
  );
  const short = lines.map((line) =>
    line.replace(/^evalsha(?:_ro)? (\S+).*/, '$1').replaceAll(/(?<= )\w+:\{[^}]*\}:/g, ''),
  );
  return compress(edit(short));
}

/** The commands of each step, a line for each: `acquire → mutex.acquire:  exists queue · set lease`. */
export async function commandTable(
  redis: Redis,
  scope: CommandsScope,
  steps: Readonly<Record<string, () => Promise<unknown>>>,
): Promise<string> {
  const rows: string[] = [];
  for (const [name, step] of Object.entries(steps)) {
    const sent = await commands(redis, scope, step);
    rows.push(`${name} → ${sent.replaceAll('\n', ' | ') || 'nothing'}`);
  }
  return rows.join('\n');
}

/** Lines that begin with two blanks are commands of the script before them. */
function compress(lines: readonly string[]): string {
  const rows: { readonly name: string; readonly inside: string[] }[] = [];
  for (const line of lines) {
    if (line.startsWith('  ')) rows.at(-1)!.inside.push(line.trim());
    else rows.push({ name: line, inside: [] });
  }
  const texts = rows.map(({ name, inside }) =>
    inside.length === 0 ? name : `${name}:  ${count(inside).join(' · ')}`,
  );
  return count(texts).join('\n');
}

/** Counts repetitions of up to 12 neighbours. */
function count(items: readonly string[]): string[] {
  const counted: string[] = [];
  for (let at = 0; at < items.length;) {
    let best = { period: 1, times: 1 };
    for (let period = 1; period <= MAX_PERIOD; period += 1) {
      let times = 1;
      while (isRepeated(items, at, period, times)) times += 1;
      if (times > 1 && period * (times - 1) > best.period * (best.times - 1)) best = { period, times };
    }
    const text = items.slice(at, at + best.period).join(' · ');
    if (best.times === 1) counted.push(text);
    else counted.push(/ · |: {2}/.test(text) ? `(${text}) ×${best.times}` : `${text} ×${best.times}`);
    at += best.period * best.times;
  }
  return counted;
}

function isRepeated(items: readonly string[], at: number, period: number, times: number): boolean {
  const next = at + period * times;
  if (next + period > items.length) return false;
  return items.slice(at, at + period).every((item, index) => item === items[next + index]);
}
