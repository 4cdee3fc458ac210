/**
 * The records of a process: a line for each event, written before it goes on. The lines survive its death, and the next
 * process in its place appends to them.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  truncateSync,
  writeSync,
} from 'node:fs';

/** A post was accepted. */
export interface Accepted {
  readonly type: 'accepted';
  readonly at: number;
  readonly chat: string;
  readonly n: number;
  readonly id: number;
  readonly isDuplicate: boolean;
}

/** A message, or an edit, was read or pushed. */
export interface Delivered {
  readonly type: 'delivered';
  readonly at: number;
  readonly chat: string;
  readonly epoch: number;
  readonly id: number;
  readonly from: string;
  readonly n: number;
  /** The token of a follower, after which it resumes. */
  readonly token?: string;
}

/** An ack was answered: nothing up to this id comes again. */
interface Acked {
  readonly type: 'acked';
  readonly at: number;
  readonly chat: string;
  readonly id: number;
}

/** A member was given a role, the n-th time. */
export interface Governed {
  readonly type: 'governed';
  readonly at: number;
  readonly chat: string;
  readonly n: number;
}

/** An event that only a fault excuses: a gap, a reset, a refusal. */
interface Noted {
  readonly type: 'noted';
  readonly at: number;
  readonly what: string;
}

export type ActorRecord = Accepted | Delivered | Acked | Governed | Noted;

export class Recorder {
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, 'a');
  }

  write(...records: readonly ActorRecord[]): void {
    // One write for all: a process may be killed between two.
    writeSync(this.#file, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  }

  close(): void {
    closeSync(this.#file);
  }
}

/**
 * In the order in which they were written. A last line that was cut off never happened.
 * @param from The bytes before the first line to read.
 */
export function readRecords(path: string, from = 0): ActorRecord[] {
  if (!existsSync(path)) return [];
  const lines = textFrom(path, from).split('\n');
  lines.pop();
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as ActorRecord);
}

function textFrom(path: string, from: number): string {
  if (from === 0) return readFileSync(path, 'utf8');
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(Math.max(0, fstatSync(file).size - from));
    return bytes.toString('utf8', 0, readSync(file, bytes, 0, bytes.length, from));
  } finally {
    closeSync(file);
  }
}

/** Removes a last line that was cut off, before somebody else goes on in the file. */
export function mendRecords(path: string): void {
  if (!existsSync(path)) return;
  const bytes = readFileSync(path);
  truncateSync(path, bytes.lastIndexOf('\n') + 1);
}
