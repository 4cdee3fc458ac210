/** Scripts are broken, and the verdict of the runs with files says so. */
import { afterEach, expect, test } from '@jest/globals';
import { freshPrefix, runServer, until } from '@mortise/test-kit';
import type { Sabotage } from '../../src/files/config.js';
import { LogRun } from '../../src/files/log-run.js';

const LATE_REPLIES_MS = 100;

const { server } = await runServer({ isCluster: true });
let run: LogRun | undefined;

afterEach(async () => {
  await run?.dispose();
  run = undefined;
});

async function startRun(sabotage: Sabotage, pauseMs: number): Promise<LogRun> {
  run = await LogRun.start(server, { prefix: freshPrefix(), files: 30, pauseMs, sabotage });
  return run;
}

test('checkpoints are counted again: lines whose reply was lost count twice', async () => {
  const logs = await startRun('checkpoints are counted again', 10);
  const proxies = logs.of('count').map(({ proxy }) => proxy!);
  // Once would do, if this process were never late.
  for (let time = 0; time < 4; time += 1) {
    for (const proxy of proxies) proxy.delay({ repliesMs: LATE_REPLIES_MS });
    const before = await logs.countedLines();
    await until('a checkpoint', async () => (await logs.countedLines()) > before);
    for (const proxy of proxies) proxy.cut();
    await Promise.all(proxies.map((proxy) => proxy.restore()));
  }
  const { miscounted, miscopied } = await logs.verdict();
  expect(miscounted).not.toEqual([]);
  expect(miscopied).toEqual([]);
});

test('acks free what others have not read: the others are refused', async () => {
  const logs = await startRun('acks free what others have not read', 10);
  await until('a refusal', () => (logs.refusals['ERR_FILE_EXPIRED'] ?? 0) > 0);
  const { unexplained, miscopied } = await logs.verdict(1);
  expect(unexplained).toContain('copier: ERR_FILE_EXPIRED');
  expect(miscopied).not.toEqual([]);
});

test('files that all are done with stay: they are found', async () => {
  const logs = await startRun('files that all are done with stay', 0);
  const { leftovers, ...found } = await logs.verdict();
  expect(leftovers.filter((key) => /}:file(?::[^:]+)?: hash/.test(key)).length).toBe(30);
  expect(found).toEqual({ miscounted: [], miscopied: [], unexplained: [] });
});
