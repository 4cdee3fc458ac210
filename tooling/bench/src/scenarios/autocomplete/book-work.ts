/** The shared base of the scenarios of books: a process with a book, which does one kind of call after the other. */
import type { Redis } from 'ioredis';
import type { Remote } from '../../remote.js';
import { startRemote } from '../../remote.js';
import type { Competitor, Outcome } from '../../scenario.js';
import type { BookActions, Calls, Report } from './book.process.js';
import type { DataKind } from './data.js';
import type { BookKind } from './kind.js';
import { restoreSnapshot } from './snapshots.js';
import { storedBytes } from './stored-bytes.js';

const MODULE = new URL('book.process.js', import.meta.url);
const SECONDS = 1;
const WARM_UP_SECONDS = 0.3;
/** One after the other. */
const AOF_CALLS = 500;

export interface Phase {
  /** Stands before its figures if there are several phases. */
  readonly label?: string;
  readonly calls: Calls;
  readonly callers: number;
  /** How many answers are compared with what they should be. Default none. */
  readonly checked?: number;
}

export interface BookWork {
  readonly data: DataKind;
  readonly count: number;
  readonly phases: readonly Phase[];
  /** Calls of which the append-only file is looked at, by the name of the figure. */
  readonly logged?: Readonly<Record<string, Calls>>;
}

type Figures = Readonly<Record<string, number>>;

export const FIGURES = {
  rate: 'operations/s',
  p50: 'p50 µs',
  p99: 'p99 µs',
  cpu: 'Redis CPU µs',
  right: 'right, %',
  best: 'best first, %',
} as const;
export const BYTES = 'bytes a name';
export const LOADING = 'names/s, loading';

/** Name of a figure of a phase. */
export function figureOf(label: string | undefined, figure: keyof typeof FIGURES): string {
  return label === undefined ? FIGURES[figure] : `${label}: ${FIGURES[figure]}`;
}

/** Figures of the first round that are the same in each: memory, answers, bytes of the append-only file. */
const known = new Map<string, Figures>();

export function bookCompetitor(kind: BookKind, work: BookWork): Competitor {
  return {
    name: kind.name,
    version: kind.version,
    prepare: async (redis, { url, seconds = SECONDS, scale }) => {
      const count = Math.ceil(work.count * scale);
      const phases = work.phases.filter(({ calls }) => kind.verbs.includes(calls.verb));
      const remote = startRemote<BookActions>(MODULE);
      const opening = { url, kind: kind.name, data: work.data, count };
      try {
        const loaded = await load(redis, remote, opening, kind);
        const id = JSON.stringify([kind.name, work]);
        const learnt = known.get(id) ?? (await learn(remote, kind, phases, work));
        known.set(id, learnt);
        return {
          warmUp: () => Promise.resolve(),
          run: () => measure(remote, phases, seconds, { ...loaded, ...learnt }),
          close: () => remote.kill(),
        };
      } catch (error) {
        await remote.kill();
        throw error;
      }
    },
  };
}

/** Loads the names, or what another server has had of them. */
async function load(
  redis: Redis,
  remote: Remote<BookActions>,
  opening: { url: string; kind: string; data: DataKind; count: number },
  { isInProcess = false }: BookKind,
): Promise<Figures> {
  const { kind, data, count } = opening;
  const id = JSON.stringify([kind, data, count]);
  const isLoaded = !isInProcess && (await restoreSnapshot(redis, id));
  const { result } = await remote.do('open', { ...opening, isLoaded });
  if (isLoaded) return known.get(id)!;
  const bytes = isInProcess ? result.heapBytes : await storedBytes(redis, id);
  const figures = { [BYTES]: bytes / count, [LOADING]: count / result.seconds };
  known.set(id, figures);
  return figures;
}

async function learn(
  remote: Remote<BookActions>,
  { verbs }: BookKind,
  phases: readonly Phase[],
  { logged = {} }: BookWork,
): Promise<Figures> {
  const figures: Record<string, number> = {};
  for (const { label, calls, checked } of phases) {
    if (checked === undefined) continue;
    const { result } = await remote.do('check', { calls, answers: checked });
    figures[figureOf(label, 'right')] = 100 * result.right;
    figures[figureOf(label, 'best')] = 100 * result.best;
  }
  for (const [figure, calls] of Object.entries(logged)) {
    if (!verbs.includes(calls.verb)) continue;
    const { result } = await remote.do('aofBytes', { calls, operations: AOF_CALLS });
    figures[figure] = result;
  }
  return figures;
}

async function measure(
  remote: Remote<BookActions>,
  phases: readonly Phase[],
  seconds: number,
  known_: Figures,
): Promise<Outcome> {
  const figures: Record<string, number> = { ...known_ };
  let operations = 0;
  const spent = { seconds: 0, sentCommands: 0, cpuMicros: 0 };
  for (const { label, calls, callers } of phases) {
    const window = { calls, callers, warmUpSeconds: WARM_UP_SECONDS, seconds };
    const done = await remote.do('window', window);
    const { result } = done;
    Object.assign(figures, figuresOf(label, result));
    operations += result.operations;
    spent.seconds += result.seconds;
    spent.sentCommands += done.spent.sentCommands;
    spent.cpuMicros += done.spent.cpuMicros;
  }
  return { operations, figures, elsewhere: spent };
}

function figuresOf(label: string | undefined, report: Report): Figures {
  return {
    [figureOf(label, 'rate')]: report.operations / report.seconds,
    [figureOf(label, 'p50')]: report.p50Micros,
    [figureOf(label, 'p99')]: report.p99Micros,
    [figureOf(label, 'cpu')]: report.redisCpuMicros,
  };
}
