/** Daemons of a fleet of four are killed and stopped while they refresh rows, and their source does what sources do. */
import { afterEach, expect, test } from '@jest/globals';
import { freshPrefix, runServer, until } from '@mortise/test-kit';
import { RowFleet } from '../../src/rows/fleet.js';

const EVERY_MS = 200;
const LEASE_MS = 1_000;
const ROWS = 200;
/** How much later than the bound a row may be on a machine with other work. */
const SLACK_MS = 3_000;

const { server } = await runServer({ isCluster: true });
let fleet: RowFleet;
let prefix: string;

afterEach(() => fleet?.dispose());

async function start(daemons = 4): Promise<void> {
  prefix = freshPrefix();
  fleet = new RowFleet({
    redis: { url: server.url },
    prefix,
    rows: ROWS,
    everyMs: EVERY_MS,
    leaseMs: LEASE_MS,
  });
  await fleet.start(daemons);
  await until('the first fill', async () => (await fleet.rows.stats()).loaded === ROWS);
}

/** Readers see a change of all rows; meanwhile none is ever missing. */
async function isSeen(version: string): Promise<void> {
  await until(`version ${version}`, async () => {
    expect((await fleet.rows.getMany(fleet.ids)).size).toBe(ROWS);
    return (await fleet.count(version)) === ROWS;
  });
}

test('SIGKILL of daemons: every row is refreshed within its delay and the lease', async () => {
  await start();
  for (let time = 0; time < 8; time += 1) {
    const loads = fleet.loads.length;
    await until('loads', () => fleet.loads.length > loads + 8);
    const running = fleet.running;
    await running[time % running.length]!.kill();
    const version = await fleet.change();
    await fleet.add();
    await isSeen(version);
    expect(await fleet.oldestMs()).toBeLessThan(EVERY_MS + LEASE_MS + SLACK_MS);
  }
  expect(await fleet.rows.stats()).toMatchObject({ scheduled: ROWS, loaded: ROWS, failing: 0 });
});

test('SIGSTOP of daemons that hold rows: others take them, and what comes late is refused', async () => {
  await start();
  // Daemons that hang have read the source before.
  await fleet.setFault('hangs');
  await until('all to hang', () => fleet.loads.filter(({ fault }) => fault === 'hangs').length >= 4);
  const stopped = fleet.running.slice(0, 3);
  await Promise.all(stopped.map((daemon) => daemon.pause()));
  await fleet.setFault('none');
  await fleet.rows.unschedule('row 7');
  const version = await fleet.change();
  await until('the new version', async () => (await fleet.count(version)) === ROWS - 1);
  for (const daemon of stopped) daemon.resume();
  const next = await fleet.change();
  await until('the next version', async () => (await fleet.count(next)) === ROWS - 1);
  expect(await fleet.rows.get('row 7')).toBeNull();
  expect(await fleet.rows.stats()).toMatchObject({ scheduled: ROWS - 1, loaded: ROWS - 1 });
});

/** For how long a source is bad. */
const BAD_MS = 30_000;

test.each(['down', 'hangs', 'garbage'] as const)(
  'a source that is bad (%s): readers have what there was, the fleet asks little, and goes on',
  async (fault) => {
    await start();
    const version = await fleet.change();
    await isSeen(version);
    await fleet.setFault(fault);
    await until('the source to be down', async () => (await fleet.rows.stats()).shardsDown === 1);
    const loads = fleet.loads.length;
    const untilMs = performance.now() + BAD_MS;
    await until(
      'the end of a bad time',
      async () => {
        expect(await fleet.count(version)).toBe(ROWS);
        return performance.now() > untilMs;
      },
      2 * BAD_MS,
    );
    // Four daemons with two batches each that were under way, each at most 7 queries; then one row per pause.
    const queries = fleet.loads.slice(loads);
    expect(queries.length).toBeLessThan(4 * 2 * 7 + 60);
    expect(queries.slice(4 * 2 * 7).every(({ ids }) => ids.length === 1)).toBe(true);
    const next = await fleet.change();
    await fleet.setFault('none');
    await isSeen(next);
    await until('all to be well', async () => {
      const stats = await fleet.rows.stats();
      return stats.failing === 0 && stats.shardsDown === 0;
    });
    expect(await fleet.oldestMs()).toBeLessThan(EVERY_MS + SLACK_MS);
  },
);

test('a source that returns too few rows: with tombstones, rows come back by themselves', async () => {
  await start();
  await fleet.setFault('few');
  await until('rows to be gone', async () => (await fleet.rows.getMany(fleet.ids)).size < ROWS);
  await fleet.setFault('none');
  const version = await fleet.change();
  await until('all rows', async () => (await fleet.count(version)) === ROWS);
  expect(await fleet.rows.stats()).toMatchObject({ scheduled: ROWS });
});

test('FLUSHALL: nothing of before is stored, and what is scheduled again is loaded', async () => {
  await start();
  await fleet.setFault('hangs');
  await until('loads that hang', () => fleet.loads.some(({ fault }) => fault === 'hangs'));
  await server.command('FLUSHALL');
  expect(await fleet.rows.stats()).toMatchObject({ scheduled: 0, loaded: 0 });
  const version = await fleet.change();
  const loads = fleet.loads.length;
  await fleet.rows.scheduleAll(fleet.ids.slice(0, 10), { everyMs: EVERY_MS });
  await until('ten rows', async () => (await fleet.count(version)) === 10);
  await until('loads', () => fleet.loads.length > loads + 20);
  expect((await fleet.rows.getMany(fleet.ids)).size).toBe(10);
  expect(await fleet.rows.stats()).toMatchObject({ scheduled: 10, loaded: 10 });
});

test('a Redis that is killed and comes back empty: the fleet goes on with what is scheduled again', async () => {
  await start();
  await server.kill();
  await server.restart();
  await fleet.rows.scheduleAll(fleet.ids, { everyMs: EVERY_MS });
  const version = await fleet.change();
  await until('the rows', async () => (await fleet.count(version)) === ROWS);
  expect(await fleet.rows.stats()).toMatchObject({ scheduled: ROWS, loaded: ROWS });
});
