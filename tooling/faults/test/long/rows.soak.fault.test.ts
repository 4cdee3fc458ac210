/**
 * Four daemons that are killed, frozen and replaced at random, over a source that fails at random, while rows come and go.
 * A minute, or `MORTISE_SOAK_MINUTES`.
 */
import { afterEach, expect, test } from '@jest/globals';
import { freshPrefix, runServer, until } from '@mortise/test-kit';
import { RowFleet } from '../../src/rows/fleet.js';
import type { Fault } from '../../src/rows/config.js';

const MINUTES = Number(process.env['MORTISE_SOAK_MINUTES'] ?? 1);
const EVERY_MS = 200;
const LEASE_MS = 1_000;
const ROWS = 500;
/** Where nothing but daemons fails, no row is older than its delay, the lease, the longest pause, and what a busy machine adds. */
const BOUND_MS = EVERY_MS + LEASE_MS + 500 + 5_000;
const FAULTS: readonly Fault[] = ['down', 'hangs', 'garbage'];

const { server } = await runServer({ isCluster: true });
let fleet: RowFleet;

afterEach(() => fleet?.dispose());

function oneOf<Value>(values: readonly Value[]): Value {
  return values[Math.floor(Math.random() * values.length)]!;
}

/** A fault, and its end. */
const EVENTS: readonly (() => Promise<() => Promise<unknown>>)[] = [
  async () => {
    await oneOf(fleet.running).kill();
    return () => fleet.add();
  },
  async () => {
    const frozen = oneOf(fleet.running);
    await frozen.pause();
    return async () => frozen.resume();
  },
  async () => {
    await fleet.setFault(oneOf(FAULTS));
    return () => fleet.setFault('none');
  },
  async () => {
    const ids = fleet.ids.filter(() => Math.random() < 0.1);
    await Promise.all(ids.map((id) => fleet.rows.unschedule(id)));
    return () => fleet.rows.scheduleAll(ids, { everyMs: EVERY_MS });
  },
  async () => {
    await server.command('CLIENT', 'KILL', 'TYPE', oneOf(['normal', 'pubsub']));
    return async () => undefined;
  },
];

test(
  'after whatever happens, all rows are there, new, and not older than their bound',
  async () => {
    fleet = new RowFleet({
      redis: { url: server.url },
      prefix: freshPrefix(),
      rows: ROWS,
      everyMs: EVERY_MS,
      leaseMs: LEASE_MS,
    });
    await fleet.start(4);
    const endsAt = performance.now() + MINUTES * 60_000;
    let rounds = 0;
    let oldestMs = 0;
    while (performance.now() < endsAt) {
      const endOf = await oneOf(EVENTS)();
      const loads = fleet.loads.length;
      await until('loads', () => fleet.loads.length > loads + Math.random() * 20);
      const version = await fleet.change();
      await endOf();
      await until(`version ${version}`, async () => (await fleet.count(version)) === ROWS);
      await until('all to be well', async () => {
        const { failing, shardsDown } = await fleet.rows.stats();
        return failing + shardsDown === 0;
      });
      const ageMs = await fleet.oldestMs();
      expect(ageMs).toBeLessThan(BOUND_MS);
      oldestMs = Math.max(oldestMs, ageMs);
      rounds += 1;
    }
    const stats = await fleet.rows.stats();
    expect(stats).toMatchObject({ scheduled: ROWS, loaded: ROWS, failing: 0, shardsDown: 0 });
    process.stdout.write(`${rounds} events, ${fleet.loads.length} loads, oldest row ${oldestMs} ms\n`);
  },
  MINUTES * 60_000 + 120_000,
);
