/**
 * Processes stand still (SIGSTOP) for longer than their lease, others take their places, and then they go on beside them, believing to
 * be the one: what they still do must neither count twice nor damage anything.
 */
import { afterEach, expect, test } from '@jest/globals';
import { freshPrefix, runServer } from '@mortise/test-kit';
import type { Role } from '../../src/files/config.js';
import { GOOD, LogRun } from '../../src/files/log-run.js';

const STEP_BYTES = 100_000;
/** More than the budget of the channel: it is not copied before those who stand still are replaced. */
const REPLACED_BYTES = 1_500_000;

const { server } = await runServer({ isCluster: true });
let run: LogRun | undefined;

afterEach(async () => {
  await run?.dispose();
  run = undefined;
});

test.each<{ who: string; role: Role }>([
  { who: 'who sends', role: 'send' },
  { who: 'who counts', role: 'count' },
  { who: 'who copies', role: 'copy' },
])(
  '$who stands still, is replaced and goes on: the counts are exact, and nothing is left',
  async ({ role }) => {
    run = await LogRun.start(server, { prefix: freshPrefix(), files: 60, pauseMs: 2 });
    for (let time = 0; time < 3; time += 1) {
      await run.movesOn(STEP_BYTES);
      const actors = run.of(role);
      const goOn = await actors[time % actors.length]!.freeze();
      await run.movesOn(REPLACED_BYTES);
      goOn();
    }
    expect(run.hasEnded).toBe(false);
    const verdict = await run.verdict();
    process.stdout.write(`files: refusals ${JSON.stringify(run.refusals)}\n`);
    expect(verdict).toEqual(GOOD);
  },
);
