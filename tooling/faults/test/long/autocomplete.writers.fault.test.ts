/**
 * Four processes change entries of one book, whose names lie between each other; they are killed at any moment, and so are
 * connections. At the end the book holds what was accepted, and lies in Redis as if nothing else had ever been in it.
 */
import { afterEach, expect, test } from '@jest/globals';
import { freshPrefix, runServer } from '@mortise/test-kit';
import { BookRun, GOOD } from '../../src/autocomplete/book-run.js';

const WRITERS = 4;
/** Of each writer: together some hundreds of blocks, which split and join all the time. */
const ENTRIES = 800;
const CHANGES = Number(process.env['MORTISE_BOOK_CHANGES'] ?? 20_000);
const KILLS = 12;

const { server } = await runServer({ isCluster: true });
let run: BookRun | undefined;

afterEach(async () => {
  await run?.dispose();
  run = undefined;
});

async function start(isBoosting: boolean): Promise<BookRun> {
  const address = { url: server.url };
  const options = { prefix: freshPrefix(), role: 'write', actors: WRITERS, entries: ENTRIES } as const;
  run = await BookRun.start(address, { ...options, isBoosting });
  return run;
}

test('four processes at the same book: it ends as the merge of what was accepted', async () => {
  const writing = await start(true);
  await writing.movesOn(CHANGES);
  await writing.end();
  expect(await writing.verdict()).toEqual(GOOD);
  process.stdout.write(`accepted ${writing.accepted}\n`);
});

test('SIGKILL of writers and of connections: each entry is wholly what was accepted or tried last', async () => {
  const writing = await start(false);
  for (let kill = 0; kill < KILLS; kill += 1) {
    await writing.movesOn(CHANGES / (4 * KILLS));
    await writing.replace(kill % WRITERS);
    await server.command('CLIENT', 'KILL', 'TYPE', 'normal');
  }
  await writing.movesOn(CHANGES / (4 * KILLS));
  await writing.end();
  expect(await writing.verdict()).toEqual(GOOD);
  process.stdout.write(`accepted ${writing.accepted}, killed ${writing.kills}\n`);
});
