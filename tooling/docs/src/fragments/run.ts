/** Runs programs of pages as a reader does, against servers of the test. */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Fragment } from '../blocks.js';
import { transformSync } from '@swc/core';

export interface Ran {
  readonly output: string;
  readonly errors: string;
  /** 0: the program ended by itself, or was ended after it had printed what it promises. */
  readonly code: number;
}

const READER = fileURLToPath(new URL('reader.mjs', import.meta.url));
const DEADLINE_MS = 20_000;
const TOO_LATE = 124;

/** As Node needs it. Readers install `redis`, the package of this repository is a part of it. */
function compiled(source: string): string {
  const { code } = transformSync(source, {
    module: { type: 'es6' },
    jsc: {
      target: 'es2023',
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true },
    },
  });
  return code.replace(/from ['"]redis['"]/, "from '@redis/client'");
}

/** An endless program is ended when it has printed the lines of its page. */
export async function runProgram(
  file: string,
  { source, output: promised, isEndless }: Pick<Fragment, 'source' | 'output' | 'isEndless'>,
  hosts: Readonly<Record<string, string>>,
): Promise<Ran> {
  writeFileSync(file, compiled(source));
  const { NODE_OPTIONS: _, ...inherited } = process.env;
  const child = spawn(process.execPath, [READER, file, ...(isEndless ? ['endless'] : [])], {
    env: { ...inherited, REDIS_URL: 'redis://127.0.0.1:6379', MORTISE_DOCS_HOSTS: JSON.stringify(hosts) },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: DEADLINE_MS,
    killSignal: 'SIGKILL',
  });
  let [output, errors, isDone] = ['', '', false];
  const wanted = isEndless ? `${promised?.join('\n')}\n` : undefined;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    isDone ||= wanted !== undefined && output.startsWith(wanted);
    if (isDone) child.kill('SIGKILL');
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const code = await new Promise<number | null>((resolve) => {
    child.once('close', resolve);
  });
  return { output: (isDone ? wanted! : output).trimEnd(), errors, code: isDone ? 0 : (code ?? TOO_LATE) };
}
