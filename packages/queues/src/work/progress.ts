/** Limits of progress and log lines. */
import { ArgumentTypeError } from '@mortise/redis';
import { jsonText } from '../task/json-text.js';

const MAX_PROGRESS_BYTES = 16_384;
const MAX_LINE_CHARACTERS = 1_000;
/** As in heartbeater.report.lua: the script drops older lines. */
const MAX_LINES = 100;

/** Throws TypeError for a value that is not JSON, RangeError for one that is too large. */
export function progressJson(value: unknown): string {
  return jsonText('progress', value, MAX_PROGRESS_BYTES);
}

/** The last lines of a text, each cut to its limit and ended by a line break. */
export function linesOf(text: unknown): string {
  if (typeof text !== 'string') throw new ArgumentTypeError(`a line must be a string, got ${typeof text}`);
  const lines = text.split(/\r\n|\r|\n/).slice(-MAX_LINES);
  return lines.map((line) => `${cut(line)}\n`).join('');
}

function cut(line: string): string {
  return line.length > MAX_LINE_CHARACTERS ? `${line.slice(0, MAX_LINE_CHARACTERS)}…` : line;
}
