import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const CHECK_MS = 250;

/**
 * Calls back once the process that started this program has gone: npm was killed, or the terminal is closed. npm runs a script
 * through a shell that outlives it; then the parent of that shell is watched. Call it before anything else.
 */
export function onInvokerGone(callback) {
  const parent = process.ppid;
  const isShellOfNpm = process.env.npm_lifecycle_event !== undefined && / -c /.test(read(parent, 'args'));
  const invoker = isShellOfNpm ? parentOf(parent) : undefined;
  const timer = setInterval(() => {
    if (process.ppid === parent && (invoker === undefined || parentOf(parent) === invoker)) return;
    clearInterval(timer);
    callback();
  }, CHECK_MS);
  timer.unref();
}

/** 0 when there is no such process. */
function parentOf(pid) {
  return Number(read(pid, 'ppid'));
}

/** The parent of a process, or the command line that it was started with, with spaces around its arguments. */
function read(pid, what) {
  try {
    if (process.platform !== 'linux')
      return execFileSync('ps', ['-ww', '-o', `${what}=`, '-p', String(pid)], { encoding: 'utf8' });
    if (what === 'args') return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1];
  } catch {
    return '';
  }
}
