import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { nowUs } from '../../locks/clock.js';
import { MarketRun } from '../../market/market-run.js';
import type { PastFault, Place, Workload } from '../workload.js';
import { isExcused, oneOf } from '../workload.js';

const TRADERS = 2;
const PAUSE_MS = 100;

/** Traders. The first one lives as long as the run. */
export async function market({ redis, prefix }: Place): Promise<Workload> {
  const directory = mkdtempSync(join(tmpdir(), 'mortise-faults-'));
  const run = new MarketRun(redis, { prefix, directory, pauseMs: PAUSE_MS });
  await run.putPlayers();
  const veteran = await run.add();
  for (let trader = 1; trader < TRADERS; trader += 1) await run.add();
  const faults: PastFault[] = [];
  return {
    permanent: /:market:\{main\}:(?:players|funds|owners|inventory|sales|saleOrder|sold|requests|outbox)$/,
    progress: () => run.recordBytes,
    veterans: () => [{ name: 'trader', pid: veteran.pid }],
    async strike(how, ms) {
      const victim = oneOf(run.running.filter((trader) => trader !== veteran));
      if (how === 'kill') {
        await victim.kill();
        await run.add();
      } else {
        await victim.pause();
        await sleep(ms);
        victim.resume();
      }
    },
    async noted(fault) {
      if (fault.isFlush) await run.restart();
      // Until then there are no players.
      faults.push(fault.isFlush ? { ...fault, to: nowUs() } : fault);
    },
    async finish() {
      await run.stop();
      return run.account((times) => isExcused(faults, times));
    },
    clean: () => run.withdrawAll(),
    dispose: async () => {
      await run.dispose();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
