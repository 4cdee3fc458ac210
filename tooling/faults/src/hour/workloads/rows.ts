import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../../until.js';
import { RowFleet } from '../../rows/fleet.js';
import { nowUs } from '../../locks/clock.js';
import type { PastFault, Place, Workload } from '../workload.js';
import { isExcused, oneOf, persist } from '../workload.js';

const ROWS = 200;
const EVERY_MS = 500;
const LEASE_MS = 1_000;
const DAEMONS = 2;
const LOOK_EVERY_MS = 100;
/** After the last fault, no row is older than its delay, the lease, the longest pause, and what a busy machine adds. */
const BOUND_MS = EVERY_MS + LEASE_MS + 500 + 10_000;
const REST_MS = 60_000;
const MOST_SHOWN = 10;

/**
 * Daemons that refresh rows, of which the first one lives as long as the run. The source changes whenever all rows are new. No reader
 * finds an older version of a row than was found before.
 */
export async function rows({ redis, prefix }: Place): Promise<Workload> {
  const fleet = new RowFleet({
    redis,
    prefix,
    rows: ROWS,
    everyMs: EVERY_MS,
    leaseMs: LEASE_MS,
    keepsLoads: false,
  });
  await fleet.start(DAEMONS);
  const [veteran] = fleet.daemons;
  const state = { changes: 0, faults: 0, slowestMs: 0, isStopped: false };
  /** A loss of the source may show in rows until they have a version that was made after it. */
  const past: (Omit<PastFault, 'to'> & { to: number })[] = [];
  const backward: { readonly what: string; readonly calledAt: number; readonly answeredAt: number }[] = [];
  /** The newest version of each row that was found, and when. */
  const newest = new Map<string, { readonly version: number; readonly at: number }>();
  const find = async (version: string): Promise<number> => {
    const found = await persist(() => fleet.versions());
    const at = nowUs();
    for (const [id, is] of found) {
      const was = newest.get(id);
      if (was && is < was.version)
        backward.push({ what: `${id}: ${is} after ${was.version}`, calledAt: was.at, answeredAt: at });
      newest.set(id, { version: is, at });
    }
    return [...found.values()].filter((one) => one === Number(version)).length;
  };
  /** A loss may take the change of the source, so the change is made again after each fault. */
  const changing = (async () => {
    while (!state.isStopped) {
      const { faults } = state;
      const startedAt = performance.now();
      const version = await persist(() => fleet.change());
      const isUndisturbed = (): boolean => !state.isStopped && state.faults === faults;
      while (isUndisturbed() && (await find(version)) < ROWS) await pause(LOOK_EVERY_MS);
      if (!isUndisturbed()) continue;
      state.slowestMs = Math.max(state.slowestMs, performance.now() - startedAt);
      state.changes += 1;
      for (const fault of past) fault.to = Math.min(fault.to, nowUs());
      await pause(EVERY_MS);
    }
  })();
  return {
    progress: () => state.changes,
    veterans: () => [{ name: 'refresher', pid: veteran!.pid }],
    async strike(how, ms) {
      const victim = oneOf(fleet.running.filter((daemon) => daemon !== veteran));
      if (how === 'kill') {
        await victim.kill();
        await fleet.add();
      } else {
        await victim.pause();
        await pause(ms);
        victim.resume();
      }
    },
    async noted(fault) {
      if (fault.mayForget) await persist(() => fleet.rows.scheduleAll(fleet.ids, { everyMs: EVERY_MS }));
      past.push({ ...fault, to: fault.mayForget ? Infinity : fault.to });
      state.faults += 1;
    },
    async finish() {
      state.isStopped = true;
      await changing;
      const version = await fleet.change();
      const older = backward.filter((one) => !isExcused(past, one)).map(({ what }) => what);
      const violations = older.slice(0, MOST_SHOWN).map((what) => `older than before: ${what}`);
      const expect = async (what: string, look: () => Promise<boolean>): Promise<void> => {
        await until(what, look, REST_MS).catch((error: Error) => violations.push(error.message));
      };
      await expect(`version ${version}`, async () => (await fleet.count(version)) === ROWS);
      await expect('no failing row', async () => {
        const { failing, shardsDown } = await fleet.rows.stats();
        return failing + shardsDown === 0;
      });
      await expect(`no row older than ${BOUND_MS} ms`, async () => (await fleet.oldestMs()) < BOUND_MS);
      return {
        violations,
        figures: {
          changes: state.changes,
          'older after a loss': backward.length - older.length,
          'slowest change, ms': Math.round(state.slowestMs),
        },
      };
    },
    async clean() {
      await fleet.end();
      await Promise.all(fleet.ids.map((id) => fleet.rows.unschedule(id)));
      await fleet.removeSource();
    },
    dispose: () => fleet.dispose(),
  };
}
