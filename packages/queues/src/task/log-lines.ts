/** A line that a handler has logged. */
export interface LogLine {
  /** By the clock of the server, ms since the epoch. */
  readonly at: number;
  readonly text: string;
}

/** Reads what worker.note.lua keeps in the hash `logs`; `null` is a task without any. */
export function readLogLines(stored: string | null): LogLine[] {
  const lines = (stored ?? '').split('\n').slice(0, -1);
  return lines.map((line) => {
    const space = line.indexOf(' ');
    return { at: Number(line.slice(0, space)), text: line.slice(space + 1) };
  });
}
