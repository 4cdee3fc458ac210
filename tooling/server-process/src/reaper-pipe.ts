import { spawn, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

// From src/ (jest) as well as from dist/, this is the one file that lies in src/.
const PROGRAM = fileURLToPath(new URL('../src/reaper.mjs', import.meta.url));

/** The registered processes; the reaper lives as long as this isn't empty. */
const registered = new Map<string, Registration>();
let reaper: ChildProcess | undefined;

type Registration = ['process', pid: number, directory: string] | ['directory', path: string];

/** Has the server killed when this process ends without {@link serverExited}. Call it in the same tick as `spawn`. */
export function serverStarted(pid: number, directory: string): void {
  register(`process ${pid}`, ['process', pid, directory]);
}

export function serverExited(pid: number): void {
  unregister(`process ${pid}`, ['exited', pid]);
}

/** Has a temporary directory removed when this process ends without {@link directoryRemoved}. */
export function directoryMade(path: string): void {
  register(`directory ${path}`, ['directory', path]);
}

export function directoryRemoved(path: string): void {
  unregister(`directory ${path}`, ['removed', path]);
}

function register(key: string, line: Registration): void {
  registered.set(key, line);
  if (reaper === undefined) reaper = startReaper();
  else write(reaper, line);
}

function unregister(key: string, line: [string, number | string]): void {
  if (!registered.delete(key) || reaper === undefined) return;
  write(reaper, line);
  if (registered.size > 0) return;
  reaper.stdin?.end();
  reaper = undefined;
}

/** Starts a reaper that knows all that is registered; what a reaper that was killed knew isn't lost. */
function startReaper(): ChildProcess {
  // In a process group of its own, so that Ctrl-C in the terminal doesn't reach it; without NODE_OPTIONS, which may hold
  // a debugger's --inspect-brk; without our stdout and stderr, which whoever waits for their end would wait for in vain.
  const { NODE_OPTIONS: _, ...env } = process.env;
  const child = spawn(process.execPath, [PROGRAM], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env,
  });
  const forget = (): void => {
    if (reaper === child) reaper = undefined;
  };
  child.on('error', forget);
  child.on('exit', forget);
  child.stdin.on('error', forget);
  child.unref();
  (child.stdin as Socket).unref();
  for (const line of registered.values()) write(child, line);
  return child;
}

function write(child: ChildProcess, line: unknown[]): void {
  child.stdin?.write(`${JSON.stringify(line)}\n`);
}
