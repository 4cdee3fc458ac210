/**
 * The journal of a process: a line when it tries to make an entry another version, and one when that was accepted. It writes
 * each line before it goes on, and the lines survive its death.
 */
import { existsSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs';

export interface JournalLine {
  /** `error` is what should not happen. */
  readonly type: 'tried' | 'accepted' | 'boosted' | 'error';
  /** The key, or the message of the error. */
  readonly key: string;
  /** The version, or by how much it was boosted. */
  readonly number: number;
}

export class Journal {
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, 'a');
  }

  write(...lines: readonly JournalLine[]): void {
    // One write for all: a process may be killed between two.
    writeSync(this.#file, lines.map(({ type, key, number }) => `${type}\t${key}\t${number}\n`).join(''));
  }
}

/** In the order in which they were written. A last line that was cut off never happened. */
export function readJournal(path: string): JournalLine[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n');
  lines.pop();
  return lines.map((line) => {
    const [type, key, number] = line.split('\t');
    return { type: type as JournalLine['type'], key: key!, number: Number(number) };
  });
}

/** Removes a last line that was cut off, before somebody else goes on in the file. */
export function mendJournal(path: string): void {
  if (!existsSync(path)) return;
  const text = readFileSync(path);
  truncateSync(path, text.lastIndexOf('\n') + 1);
}
