/** The children of a job: those that have ended with their results or errors, and the others. */
import type { JobLike } from './host.js';

type Kind = 'processed' | 'unprocessed' | 'ignored' | 'failed';
interface Page {
  cursor?: number | undefined;
  count?: number | undefined;
}

export type DependenciesOptions = Partial<Record<Kind, Page | boolean>>;

export interface Dependencies {
  processed?: Record<string, unknown>;
  nextProcessedCursor?: number;
  unprocessed?: string[];
  nextUnprocessedCursor?: number;
  ignored?: Record<string, unknown>;
  nextIgnoredCursor?: number;
  failed?: string[];
  nextFailedCursor?: number;
}

const KINDS: Readonly<Record<string, Kind>> = { s: 'processed', p: 'unprocessed', i: 'ignored', f: 'failed' };
const ALL: readonly Kind[] = ['processed', 'unprocessed', 'ignored', 'failed'];
const DEFAULT_COUNT = 20;

async function endsOf(job: JobLike): Promise<Map<Kind, [string, string][]>> {
  const found = new Map<Kind, [string, string][]>(ALL.map((kind) => [kind, []]));
  for (const [key, end] of Object.entries(await job.queue.store.children(job.id!))) {
    if (key === '#' || key === '!' || key === '@') continue;
    found.get(KINDS[end[0]!]!)!.push([key, end.slice(1)]);
  }
  return found;
}

export async function listDependencies(job: JobLike, options: DependenciesOptions): Promise<Dependencies> {
  const ends = await endsOf(job);
  const wanted = ALL.filter((kind) => options[kind]);
  const found: Record<string, unknown> = {};
  for (const kind of wanted.length > 0 ? wanted : ALL) {
    const all = ends.get(kind)!;
    const { cursor = 0, count = DEFAULT_COUNT } = (options[kind] || { count: all.length }) as Page;
    const page = all.slice(cursor, cursor + count);
    const isList = kind === 'unprocessed' || kind === 'failed';
    found[kind] = isList
      ? page.map(([key]) => key)
      : Object.fromEntries(page.map(([key, text]) => [key, kind === 'processed' ? parsed(text) : text]));
    if (wanted.length > 0) {
      const next = cursor + count;
      found[`next${kind[0]!.toUpperCase()}${kind.slice(1)}Cursor`] = next < all.length ? next : 0;
    }
  }
  return found;
}

export async function countDependencies(
  job: JobLike,
  options: Partial<Record<Kind, boolean>>,
): Promise<Partial<Record<Kind, number>>> {
  const ends = await endsOf(job);
  const wanted = ALL.filter((kind) => options[kind]);
  return Object.fromEntries((wanted.length > 0 ? wanted : ALL).map((kind) => [kind, ends.get(kind)!.length]));
}

export async function valuesOf<Value>(job: JobLike, end: 's' | 'i'): Promise<Record<string, Value>> {
  const ends = (await endsOf(job)).get(KINDS[end]!)!;
  return Object.fromEntries(ends.map(([key, text]) => [key, (end === 's' ? parsed(text) : text) as Value]));
}

function parsed(text: string): unknown {
  return text === '' ? null : (JSON.parse(text) as unknown);
}
