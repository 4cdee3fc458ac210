import { setTimeout as pause } from 'node:timers/promises';
import type { Verdict } from '../../files/log-run.js';
import { LogRun } from '../../files/log-run.js';
import type { PastFault, Place, Workload } from '../workload.js';
import { oneOf } from '../workload.js';

const FILES = 12;
const PAUSE_MS = 100;
const LOOK_EVERY_MS = 200;

/**
 * Sends directories of logs, one after the other. Each has processes of its own: a sender, three that count lines, and one that copies.
 * FLUSHALL removes the counts of the present directory, so the check leaves out these counts, and nothing else.
 */
export async function files(place: Place): Promise<Workload> {
  const rounds = new Rounds(place);
  await rounds.next();
  const running = rounds.run().catch((error: Error) => rounds.violations.push(error.message));
  return {
    progress: () => rounds.bytes,
    // The processes of a round end with it.
    veterans: () => [],
    async strike(how, ms) {
      const actors = rounds.logs?.actors.filter(({ config }) => config.role !== 'send');
      if (!actors) return;
      const actor = oneOf(actors);
      if (how === 'kill') {
        await actor.replace();
        return;
      }
      const resume = await actor.freeze();
      await pause(ms);
      resume();
    },
    begins: () => rounds.begins(),
    noted: async (fault) => rounds.noted(fault),
    async finish() {
      rounds.stop();
      await running;
      return {
        violations: rounds.violations,
        figures: { directories: rounds.count, 'without a comparison of counts': rounds.flushed },
      };
    },
    // Results and marks expire.
    clean: async () => undefined,
    dispose: () => rounds.dispose(),
  };
}

class Rounds {
  /** The present directory; undefined between two of them. */
  logs: LogRun | undefined;
  count = 0;
  /** The number of directories that a FLUSHALL hit. */
  flushed = 0;
  readonly violations: string[] = [];
  readonly #place: Place;
  #bytesBefore = 0;
  #isFlushed = false;
  #hasForgotten = false;
  #isStopped = false;
  /** A fault has begun, and is not over. */
  #isUnderFault = false;
  #faults = 0;

  constructor(place: Place) {
    this.#place = place;
  }

  get bytes(): number {
    return this.#bytesBefore + (this.logs?.copiedBytes ?? 0);
  }

  begins(): void {
    this.#isUnderFault = true;
    this.#faults += 1;
  }

  noted({ mayForget, isFlush }: PastFault): void {
    this.#isUnderFault = false;
    if (mayForget) this.logs?.forgets();
    if (mayForget) this.#hasForgotten = true;
    if (isFlush) this.#isFlushed = true;
  }

  stop(): void {
    this.#isStopped = true;
  }

  async next(): Promise<LogRun> {
    const { redis, prefix } = this.#place;
    if ('url' in redis) throw new TypeError('files need a group of servers');
    this.count += 1;
    this.#isFlushed = false;
    this.#hasForgotten = false;
    const options = { prefix: `${prefix}-${this.count}`, files: FILES, pauseMs: PAUSE_MS };
    const logs = await LogRun.start(redis, options);
    if (this.#hasForgotten) logs.forgets();
    this.logs = logs;
    return logs;
  }

  async run(): Promise<void> {
    for (let logs = this.logs ?? (await this.next()); ; logs = await this.next()) {
      while (!logs.hasEnded && !this.#isStopped) await pause(LOOK_EVERY_MS);
      this.#compare(await this.#verdict(logs));
      if (this.#isStopped) return;
      this.#bytesBefore += logs.copiedBytes;
      this.logs = undefined;
      await logs.dispose();
    }
  }

  async dispose(): Promise<void> {
    await this.logs?.dispose();
  }

  /** A fault that comes in between excuses something, and tells so once it is over: then the verdict is made again. */
  async #verdict(logs: LogRun): Promise<Verdict> {
    for (;;) {
      const faults = this.#faults;
      const verdict = await logs.verdict();
      const isDisturbed = this.#isUnderFault || this.#faults !== faults;
      if (!isDisturbed || this.#isStopped) return verdict;
      while (this.#isUnderFault && !this.#isStopped) await pause(LOOK_EVERY_MS);
    }
  }

  #compare({ miscounted, ...others }: Verdict): void {
    if (this.#isFlushed) this.flushed += 1;
    const verdict = this.#isFlushed ? others : { miscounted, ...others };
    for (const [rule, some] of Object.entries(verdict))
      for (const what of some) this.violations.push(`directory ${this.count}, ${rule}: ${what}`);
  }
}
