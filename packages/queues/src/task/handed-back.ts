/**
 * The data of a task that workers without a handler for its name have handed back, in its entry of `attempts`:
 *
 *   \x01 · since when, ms since the epoch, in digits · a space · the error
 *
 * It lasts while the task waits. An attempt of a worker with the handler replaces it, so the time begins anew.
 */

const MARK = '\u0001';

/** @param since When a worker first had no handler, by the server's clock. */
export function handedBackData(since: number, error: string): string {
  return `${MARK}${Math.floor(since)} ${error}`;
}

/** The error in the data of an attempt. */
export function errorText(data: string): string {
  return data.startsWith(MARK) ? data.slice(data.indexOf(' ') + 1) : data;
}
