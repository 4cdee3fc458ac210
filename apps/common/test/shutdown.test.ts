/** The end of a program. The build comes first: `npm run build`. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { afterEach, expect, test } from '@jest/globals';

const PROGRAM = fileURLToPath(new URL('fixture/stopping.mjs', import.meta.url));
const LONG_MS = 60_000;
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

class Program {
  readonly lines: string[] = [];
  readonly exited: Promise<number | string>;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<string, () => void>();

  constructor(how: string, withinMs: number) {
    const child = spawn(process.execPath, [PROGRAM, how, String(withinMs)]);
    this.#child = child;
    children.push(child);
    this.exited = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
    createInterface(child.stdout).on('line', (line) => {
      this.lines.push(line);
      this.#waiting.get(line)?.();
    });
  }

  said(line: string): Promise<void> {
    return new Promise((resolve) => {
      if (this.lines.includes(line)) resolve();
      else this.#waiting.set(line, resolve);
    });
  }

  async signal(signal: NodeJS.Signals, after: string): Promise<void> {
    await this.said(after);
    this.#child.kill(signal);
  }
}

test.each([
  ['SIGTERM', 'well', LONG_MS, 0, ['info stopped']],
  ['SIGINT', 'well', LONG_MS, 0, ['info stopped']],
  ['SIGTERM', 'badly', LONG_MS, 1, ['error did not stop cleanly']],
  ['SIGTERM', 'never', 50, 1, ['error did not stop in time']],
] as const)(
  '%s of a program that stops %s within %d ms: exit code %d',
  async (signal, how, ms, code, last) => {
    const program = new Program(how, ms);
    await program.signal(signal, 'running');
    expect(await program.exited).toBe(code);
    expect(program.lines).toEqual(['running', 'info stopping', ...last]);
  },
);

test.each(['SIGTERM', 'SIGINT'] as const)('a second signal, %s, ends the program at once', async (second) => {
  const program = new Program('never', LONG_MS);
  await program.signal('SIGTERM', 'running');
  await program.signal(second, 'info stopping');
  expect(await program.exited).toBe(second);
});
