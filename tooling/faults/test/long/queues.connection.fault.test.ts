/** A connection breaks between every two steps of a queue's life: before each request, in its middle, after it, in each reply. */
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { startProxy } from '@mortise/redis-server';
import { freshPrefix, runServer } from '@mortise/test-kit';
import type { CutResult } from '../../src/queues/cut-run.js';
import { CUT_RUN_ENDS, runWithCut } from '../../src/queues/cut-run.js';
import type { Cut } from '../../src/queues/cutter.js';
import { CUTS } from '../../src/queues/cutter.js';
import { endOfLoad, LOAD_WORKERS, planLoad } from '../../src/queues/load.js';
import { QueueRun } from '../../src/queues/queue-run.js';

const AT_A_TIME = 8;

const { server } = await runServer({ isCluster: true });

test.each(['patient', 'impatient'] as const)(
  'with a client that is %s: each task is stored once, none is lost, and none has two holders',
  async (client) => {
    const { requests, replies, account } = await runWithCut(server, client);
    expect([account.violations, account.duplicates]).toEqual([[], 0]);
    // Timers make a few messages more or less.
    const cuts = CUTS.flatMap((what) =>
      Array.from({ length: (what === 'reply halved' ? replies : requests) + 2 }, (_, index): Cut => ({
        what,
        message: index + 1,
      })),
    );
    const wrong: object[] = [];
    const sums = { cuts: 0, 'ran again': 0 };
    const left = cuts.values();
    await Promise.all(
      Array.from({ length: AT_A_TIME }, async () => {
        for (const cut of left) {
          const result = await runWithCut(server, client, cut);
          if (!isWhole(result)) wrong.push({ cut, ...result.account });
          sums.cuts += Number(result.hasCut);
          sums['ran again'] += result.account.duplicates;
        }
      }),
    );
    process.stdout.write(`${client}: ${JSON.stringify(sums)} of ${cuts.length}\n`);
    expect(wrong).toEqual([]);
    expect(sums.cuts).toBeGreaterThan(0.6 * cuts.length);
  },
);

function isWhole({ account: { violations, tasks } }: CutResult): boolean {
  const { succeeded, dead, cancelled } = CUT_RUN_ENDS;
  return (
    violations.length === 0 &&
    tasks.succeeded === succeeded &&
    tasks.dead === dead &&
    tasks.cancelled === cancelled
  );
}

test('replies are lost, for all, in the middle of work: each task is stored once and done', async () => {
  const proxy = await startProxy(server);
  const run = new QueueRun(
    { url: proxy.url },
    {
      prefix: freshPrefix(),
      tasks: 200_000,
      plan: planLoad,
      workers: LOAD_WORKERS,
      chunk: 30,
      pauseMs: 10,
    },
  );
  try {
    await run.fleet.start(2);
    const accepted = await run.whileProducing(async () => {
      for (let time = 0; time < 4; time += 1) {
        await run.movesOn(200);
        await run.during(async () => {
          proxy.dropReplies();
          // Workers go on with their tasks, and their acks are lost.
          await pause(150);
          proxy.cut();
          await proxy.restore();
        });
      }
    });
    const account = await run.verdict({ endOf: endOfLoad });
    expect(account.violations).toEqual([]);
    expect(account.tasks.succeeded + account.tasks.dead).toBe(accepted);
    // Of these the first reply was lost.
    expect(run.producer.repeated).toBeGreaterThan(0);
  } finally {
    await run.dispose();
    await proxy.stop();
  }
});
