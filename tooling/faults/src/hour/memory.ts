/** Reads the memory and the open files of processes. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { until } from '../until.js';
import type { Veteran } from './workload.js';

export interface Sample {
  /** After a collection of garbage. */
  readonly heapBytes: number;
  readonly rssBytes: number;
  /** Open files and connections; undefined on a system without `/proc`. */
  readonly files: number | undefined;
}

const ANSWER_MS = 60_000;

export class MemoryReader {
  readonly #directory = mkdtempSync(join(tmpdir(), 'mortise-heap-'));

  /** For the environment of all processes that are started from now on. */
  get environment(): Record<string, string> {
    const probe = fileURLToPath(new URL('../../dist/hour/memory-usage.js', import.meta.url));
    return {
      NODE_OPTIONS: `--import=${pathToFileURL(probe).href}`,
      HOUR_HEAP_DIRECTORY: this.#directory,
    };
  }

  /** One process after the other. A process that has ended has no sample. */
  async sample(processes: readonly Veteran[]): Promise<(Sample | undefined)[]> {
    const samples: (Sample | undefined)[] = [];
    for (const { name, pid } of processes) samples.push(await this.#sample(name, pid));
    return samples;
  }

  dispose(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #sample(name: string, pid: number): Promise<Sample | undefined> {
    const file = join(this.#directory, String(pid));
    rmSync(file, { force: true });
    try {
      process.kill(pid, 'SIGUSR2');
    } catch {
      return undefined;
    }
    await until(`the memory of ${name}`, () => existsSync(file) || !isThere(pid), ANSWER_MS);
    if (!existsSync(file)) return undefined;
    const memory = JSON.parse(readFileSync(file, 'utf8')) as Pick<Sample, 'heapBytes' | 'rssBytes'>;
    return { ...memory, files: filesOf(pid) };
  }
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function filesOf(pid: number): number | undefined {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return undefined;
  }
}
