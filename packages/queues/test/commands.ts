import { transcript } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import * as scripts from '../src/scripts.gen.js';

const MAX_PERIOD = 12;

/**
 * The commands of an action, as MONITOR sees them: a line for each command of the client, after the name of a script the
 * commands inside it. Repetitions are counted: `(hget a · hset b) ×3`. Keys are without the part that all have in common.
 */
export async function commands(
  redis: Redis,
  prefix: string,
  action: () => Promise<unknown>,
): Promise<string> {
  return compress(await sent(redis, prefix, action));
}

/** As `commands`, without those inside scripts. */
export async function calls(redis: Redis, prefix: string, action: () => Promise<unknown>): Promise<string> {
  const lines = await sent(redis, prefix, action);
  return compress(lines.filter((line) => !line.startsWith(' ')));
}

async function sent(redis: Redis, prefix: string, action: () => Promise<unknown>): Promise<string[]> {
  const lines = await transcript(redis, { prefix, scripts }, action);
  return lines.map((line) =>
    line
      .replaceAll(/queues:\{(?:q|-%%-1)\}:/g, '')
      .replace(/^evalsha(?:_ro)? (\S+).*/, '$1')
      .replace(/wake:\S+/, 'wake'),
  );
}

/** Lines that begin with two blanks are commands of the script before them. */
export function compress(lines: readonly string[]): string {
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
