/**
 * A process that loads many names is killed between two batches, at any of them: the book is readable and whole as far as it was
 * loaded, and loading it once more makes it complete.
 */
import { afterEach, expect, test } from '@jest/globals';
import { freshPrefix, runServer } from '@mortise/test-kit';
import { BookRun, GOOD } from '../../src/autocomplete/book-run.js';

const ENTRIES = Number(process.env['MORTISE_BOOK_ENTRIES'] ?? 5_000);

const { server } = await runServer({ isCluster: true });
let run: BookRun | undefined;

afterEach(async () => {
  await run?.dispose();
  run = undefined;
});

function start(): Promise<BookRun> {
  return BookRun.start(
    { url: server.url },
    { prefix: freshPrefix(), role: 'load', actors: 1, entries: ENTRIES },
  );
}

test.each([0.001, 0.1, 0.3, 0.5, 0.7, 0.9])(
  'SIGKILL when %d of the names are loaded: what is there is whole',
  async (share) => {
    run = await start();
    await run.movesOn(Math.ceil(share * ENTRIES));
    await run.kill();
    expect(await run.verdict()).toEqual(GOOD);
    const size = await run.book.size();
    process.stdout.write(`killed with ${size} of ${ENTRIES}\n`);
    expect(size).toBeGreaterThan(0);
    expect((await run.book.complete('', { limit: 10 })).length).toBe(10);
  },
);

test('a load that was killed several times is made whole by the next one', async () => {
  run = await start();
  for (const share of [0.05, 0.2, 0.4]) {
    await run.movesOn(Math.ceil(share * ENTRIES));
    await run.replace(0);
  }
  await run.end();
  expect(await run.verdict()).toEqual(GOOD);
  expect(await run.book.size()).toBe(ENTRIES);
});
