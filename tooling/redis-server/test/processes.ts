import { readFileSync } from 'node:fs';

/** Whether no process with that pid runs: one that is dead but not yet waited for has no command line. */
export function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform === 'linux' && readFileSync(`/proc/${pid}/cmdline`, 'utf8') === '';
  } catch {
    return true;
  }
}
