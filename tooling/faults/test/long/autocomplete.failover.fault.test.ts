/**
 * The server of a book changes while four processes write to it and somebody completes.
 *
 * Redis replicates asynchronously: a master that dies may take changes with it that it has accepted a moment before. That is all
 * that is excused; an entry is then what it was before, wholly. A failover that Cluster was asked for, and a slot that moves, lose
 * nothing.
 */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { RedisCluster } from '@mortise/redis-server';
import { keySlot, startCluster } from '@mortise/redis-server';
import { freshPrefix, until } from '@mortise/test-kit';
import { BookReader } from '../../src/autocomplete/book-reader.js';
import type { Verdict } from '../../src/autocomplete/book-run.js';
import { BookRun, GOOD } from '../../src/autocomplete/book-run.js';
import { BOOK } from '../../src/autocomplete/config.js';

const WRITERS = 4;
const ENTRIES = 400;
const CHANGES = Number(process.env['MORTISE_BOOK_CHANGES'] ?? 4_000);
const READS = 30;
/** The slot of all keys of the book. */
const TAG = `{${BOOK}}`;

let cluster: RedisCluster;
let run: BookRun | undefined;
let reader: BookReader | undefined;

beforeEach(async () => {
  cluster = await startCluster({ nodeTimeoutMs: 3_000 });
});

afterEach(async () => {
  await reader?.stop();
  await run?.dispose();
  run = undefined;
  await cluster?.stop();
});

const ALL_GOOD = { read: [], verdict: GOOD };

/** The read entries that are no version, and the verdict. */
async function underLoad(
  act: () => Promise<unknown>,
  mayForget: boolean,
): Promise<{ read: readonly string[]; verdict: Verdict }> {
  const address = { startupNodes: cluster.startupNodes };
  run = await BookRun.start(address, {
    prefix: freshPrefix(),
    role: 'write',
    actors: WRITERS,
    entries: ENTRIES,
  });
  reader = new BookReader(run.book);
  reader.start();
  await run.movesOn(CHANGES);
  await reader.movesOn(READS);
  await act();
  await reader.movesOn(READS);
  await run.movesOn(CHANGES);
  await run.end();
  await reader.stop();
  process.stdout.write(`accepted ${run.accepted}, read ${reader.reads}, failed ${reader.failures}\n`);
  return { read: reader.torn, verdict: await run.verdict({ mayForget }) };
}

test('Cluster promotes a replica on request: nothing is lost', async () => {
  const act = async (): Promise<void> => {
    for (let time = 0; time < 2; time += 1) {
      await cluster.failover(await cluster.ownerOf(TAG));
      await run!.movesOn(CHANGES / 10);
    }
  };
  expect(await underLoad(act, false)).toEqual(ALL_GOOD);
});

test('Cluster replaces a master that was killed: each entry is wholly a version that it had', async () => {
  const act = async (): Promise<void> => {
    const master = await cluster.ownerOf(TAG);
    await master.kill();
    await until('another owner', async () => (await cluster.ownerOf(TAG)) !== master);
  };
  expect(await underLoad(act, true)).toEqual(ALL_GOOD);
});

test('the slot of the book moves to another master, and back: nothing is lost', async () => {
  const act = async (): Promise<void> => {
    const first = await cluster.ownerOf(TAG);
    const masters = await Promise.all([0, 8_000, 16_000].map((slot) => cluster.ownerOf(slot)));
    for (const target of [masters.find((master) => master !== first)!, first]) {
      await cluster.moveSlot(keySlot(TAG), target);
      await run!.movesOn(CHANGES / 10);
    }
  };
  expect(await underLoad(act, false)).toEqual(ALL_GOOD);
});
