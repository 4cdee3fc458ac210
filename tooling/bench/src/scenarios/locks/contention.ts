import { crewWork } from '../../crew.js';
import type { Competitor } from '../../scenario.js';
import type { ContendersSettings } from './contenders.process.js';
import { contention } from './holds.js';
import type { ContendersReport } from './holds.js';

export const HOLD_MS = 1;
const WARM_UP_SECONDS = 0.3;

interface Contention extends Pick<ContendersSettings, 'type'> {
  readonly contenders: number;
  /** How many may hold it at once. */
  readonly limit: number;
  readonly processes: number;
  readonly seconds: number;
}

/** Contenders in several processes that hold one lock or semaphore by turns. */
export function contending(kind: { name: string; version: string }, plan: Contention): Competitor {
  const { type, contenders, limit, processes } = plan;
  const all = Array.from({ length: contenders }, (_, contender) => contender);
  return {
    name: kind.name,
    version: kind.version,
    prepare: (_redis, { url, seconds = plan.seconds }) =>
      crewWork<ContendersReport>({
        module: new URL('contenders.process.js', import.meta.url),
        settings: Array.from({ length: processes }, (_, index): ContendersSettings => ({
          url,
          type,
          kind: kind.name,
          contenders: all.filter((contender) => contender % processes === index),
          holdMs: HOLD_MS,
        })),
        warmUpSeconds: WARM_UP_SECONDS,
        seconds,
        outcome: (reports, spent) => ({
          operations: reports.reduce((sum, { holds }) => sum + holds.length, 0),
          figures: contention(reports, { contenders, limit, seconds: spent.seconds }),
        }),
      }),
  };
}
