/**
 * Sentinel replaces a master that was killed. Redis replicates asynchronously, so the new one may not know the last milliseconds; but it knows
 * one moment of everything: of chunks, cursors, announcements and counts alike. A sender that has passed over a file whose end is
 * forgotten cannot know it: one that begins its directory anew brings what is missing.
 *
 * Not claimed of a promotion on request, whose old master goes on accepting for about two seconds, and forgets whole files: what becomes of one is
 * tested without sentinels (packages/messaging/test/files.forgotten.test.ts).
 */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { RedisSentinel } from '@mortise/redis-server';
import { startSentinel } from '@mortise/redis-server';
import { freshPrefix, until } from '@mortise/test-kit';
import { GOOD, LogRun } from '../../src/files/log-run.js';

const STEP_BYTES = 500_000;

let group: RedisSentinel;
let run: LogRun | undefined;

beforeEach(async () => {
  group = await startSentinel();
});

afterEach(async () => {
  await run?.dispose();
  run = undefined;
  await group?.stop();
});

test('Sentinel replaces a master that was killed: the counts are exact, and nothing is left', async () => {
  const address = { name: group.name, sentinels: group.sentinels };
  run = await LogRun.start(address, { prefix: freshPrefix(), files: 40, pauseMs: 5 });
  await run.movesOn(STEP_BYTES);
  run.forgets();
  const master = await group.master();
  await master.kill();
  await until('another master', async () => (await group.master()) !== master);
  await run.of('send')[0]!.replace();
  const verdict = await run.verdict();
  process.stdout.write(`files: refusals ${JSON.stringify(run.refusals)}\n`);
  expect(verdict).toEqual(GOOD);
});
