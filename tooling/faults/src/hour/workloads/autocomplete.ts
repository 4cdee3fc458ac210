import { setTimeout as pause } from 'node:timers/promises';
import { BookReader } from '../../autocomplete/book-reader.js';
import { BookRun } from '../../autocomplete/book-run.js';
import type { PastFault, Place, Workload } from '../workload.js';
import { isExcused } from '../workload.js';

const WRITERS = 2;
const ENTRIES = 160;
const PAUSE_MS = 100;

/** A reader, and processes that change an address book. The first of these lives as long as the run. */
export async function autocomplete({ redis, prefix }: Place): Promise<Workload> {
  const run = await BookRun.start(redis, {
    prefix,
    role: 'write',
    actors: WRITERS,
    entries: ENTRIES,
    looksUp: true,
    pauseMs: PAUSE_MS,
  });
  const faults: PastFault[] = [];
  const reader = new BookReader(run.book, PAUSE_MS);
  reader.start();
  const victim = (): number => 1 + Math.floor(Math.random() * (WRITERS - 1));
  return {
    progress: () => Math.min(run.accepted, reader.reads),
    veterans: () => [{ name: 'writer', pid: run.children[0]!.pid }],
    async strike(how, ms) {
      if (how === 'kill') {
        await run.replace(victim());
        return;
      }
      const child = run.children[victim()]!;
      await child.pause();
      await pause(ms);
      child.resume();
    },
    async noted(fault) {
      if (fault.mayForget) run.forgets();
      faults.push(fault);
    },
    async finish() {
      await reader.stop();
      await run.end();
      const { wrong, torn, faults: broken, errors } = await run.verdict();
      const all = run.changed;
      const changed = all.filter((one) => !isExcused(faults, one)).map(({ what }) => what);
      const named = { wrong, torn, faults: broken, errors, changed, 'torn read': reader.torn };
      return {
        violations: Object.entries(named).flatMap(([rule, some]) => some.map((what) => `${rule}: ${what}`)),
        figures: {
          accepted: run.accepted,
          reads: reader.reads,
          'failed reads': reader.failures,
          forgotten: all.length - changed.length,
        },
      };
    },
    clean: () => run.clean(),
    dispose: async () => {
      await reader.stop();
      await run.dispose();
    },
  };
}
