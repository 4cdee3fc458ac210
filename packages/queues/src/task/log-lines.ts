/** A log line of a handler. */
export interface LogLine {
  /** ms since the epoch, by the server's clock. */
  readonly at: number;
  readonly text: string;
}

/** Decodes a value of the hash `logs` (see heartbeater.report.lua); `null`: no lines. */
export function readLogLines(stored: string | null): LogLine[] {
  const lines = (stored ?? '').split('\n').slice(0, -1);
  return lines.map((line) => {
    const space = line.indexOf(' ');
    return { at: Number(line.slice(0, space)), text: line.slice(space + 1) };
  });
}
