import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach } from '@jest/globals';
import type { WorkerOptions } from '@mortise/queues';

export interface Report {
  readonly type: 'begin' | 'error' | 'closed';
  readonly id?: string;
  readonly attempt?: number;
  readonly code?: string;
  readonly errors?: number;
}

const children = new Set<ChildProcess>();

afterEach(async () => {
  await Promise.all([...children].map((child) => kill(child)));
  children.clear();
});

/** Starts test/worker-process.mjs, or another program of this folder; the child ends with the test. */
export function startProcess(
  url: string,
  queue: string,
  options: Omit<WorkerOptions, 'onError'> & { isQuiet?: boolean },
  program = 'worker-process.mjs',
): { child: ChildProcess; reports: Report[] } {
  const file = join(import.meta.dirname, program);
  const child = fork(file, [JSON.stringify({ url, queue, options })], { execArgv: [] });
  const reports: Report[] = [];
  child.on('message', (message: Report) => reports.push(message));
  children.add(child);
  return { child, reports };
}

/** Ends it as the kernel would, and waits until it is gone. */
export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}
