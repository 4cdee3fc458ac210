/** One process with a daemon, which notes what it loads. */
import type { MakeSegment } from '../../crew-member.js';
import { daemonKind } from './daemons.js';
import { now } from './now.js';

export interface RowsSettings {
  readonly url: string;
  readonly databaseUrl: string;
  readonly kind: string;
}

export interface RowsReport {
  /** When it began to count. */
  readonly openedAt: number;
  readonly closedAt: number;
  /** Since its start, in order: the number of a row and when it was asked for, in turns. */
  readonly loads: readonly number[];
  readonly queries: number;
}

const make: MakeSegment<RowsSettings, RowsReport> = ({ kind, ...places }) => {
  const loads: number[] = [];
  let queries = 0;
  let openedAt = 0;
  let isClosed = false;
  const onLoad = (ids: readonly string[]): Promise<never> | undefined => {
    // Its loads after the end must not cost the other competitors.
    if (isClosed) return new Promise(() => undefined);
    const at = Math.round(now());
    queries += 1;
    for (const id of ids) loads.push(Number(id), at);
    return undefined;
  };
  return Promise.resolve({
    start: async () => {
      await daemonKind(kind).run({ ...places, onLoad });
    },
    open: () => {
      openedAt = now();
      queries = 0;
    },
    close: () => {
      isClosed = true;
      return { openedAt, closedAt: now(), loads, queries };
    },
  });
};

export default make;
