/**
 * The journal of a process: a line when it tries to make an entry another version, and one when that was accepted. It writes
 * each line before it goes on, and the lines survive its death.
 */
import { existsSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs';

export interface JournalLine {
  /** `error` is what should not happen; `changed`, that an entry was another version than its process had left it at. */
  readonly type: 'tried' | 'accepted' | 'boosted' | 'error' | 'changed';
  /** The key, or the message of the error, or what was found. */
  readonly key: string;
  /** The version, or by how much it was boosted; of `changed`, when the version was accepted, µs. */
  readonly number: number;
  /** Of `changed`: when another one was found, µs. */
  readonly to?: number;
}

export class Journal {
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, 'a');
  }

  write(...lines: readonly JournalLine[]): void {
    // One write for all: a process may be killed between two.
    writeSync(this.#file, lines.map((line) => `${textOf(line)}\n`).join(''));
  }
}

function textOf({ type, key, number, to }: JournalLine): string {
  return [type, key, number, ...(to === undefined ? [] : [to])].join('\t');
}

/** In the order in which they were written. A last line that was cut off never happened. */
export function readJournal(path: string): JournalLine[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n');
  lines.pop();
  return lines.map((line) => {
    const [type, key, number, to] = line.split('\t');
    const read = { type: type as JournalLine['type'], key: key!, number: Number(number) };
    return to === undefined ? read : { ...read, to: Number(to) };
  });
}

/** Removes a last line that was cut off, before somebody else goes on in the file. */
export function mendJournal(path: string): void {
  if (!existsSync(path)) return;
  const text = readFileSync(path);
  truncateSync(path, text.lastIndexOf('\n') + 1);
}
