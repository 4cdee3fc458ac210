/** Renewals, progress and log lines of the attempts of one shard. Calls of one tick share a script call. */
import type { CommandArgument } from '@mortise/redis';
import { Coalescer } from '@mortise/redis';
import { heartbeaterRenew, heartbeaterReport } from '../scripts.gen.js';
import type { Shard } from '../shard/shard.js';
import type { AttemptToken } from './completer.js';
import { leaseEnd } from './lease-end.js';

/** Progress and log lines of an attempt. */
export interface Report {
  /** JSON, or empty. */
  readonly progress: string;
  /** Each line ends with a line break. */
  readonly lines: string;
}

type AttemptReport = AttemptToken & Report;

/** `1`: the attempt has its lease. `0`: it has lost the lease. `C`: its task was cancelled. */
export type LeaseAnswer = string;

export interface Renewal {
  readonly answer: LeaseAnswer;
  /** By `performance.now()`. */
  readonly leaseEndsAt: number;
}

const MAX_RENEWALS = 500;
const MAX_REPORTS = 200;
const MAX_REPORTS_BYTES = 1024 * 1024;

export class Leases {
  readonly #shard: Shard;
  readonly #renewals = new Coalescer<number, AttemptToken, Renewal>(
    (leaseMs, held) => this.#renew(leaseMs, held),
    { maxBatch: MAX_RENEWALS },
  );
  readonly #reports = new Coalescer<Leases, AttemptReport, LeaseAnswer>(
    (_, reports) => this.#store(reports),
    {
      maxBatch: MAX_REPORTS,
      maxBytes: MAX_REPORTS_BYTES,
      bytesOf: ({ progress, lines }) => progress.length + lines.length,
    },
  );

  constructor(shard: Shard) {
    this.#shard = shard;
  }

  /** Sets the end of the lease to `leaseMs` from now. */
  renew({ storedId, token }: AttemptToken, leaseMs: number): Promise<Renewal> {
    return this.#renewals.submit(leaseMs, { storedId, token });
  }

  /** Stores the last progress and appends the lines. Optional features must be enabled. */
  report({ storedId, token }: AttemptToken, { progress, lines }: Report): Promise<LeaseAnswer> {
    return this.#reports.submit(this, { storedId, token, progress, lines });
  }

  async #renew(leaseMs: number, held: readonly AttemptToken[]): Promise<Renewal[]> {
    const { redis, keys } = this.#shard;
    const { attempts, active } = keys.of;
    const leaseEndsAt = leaseEnd(performance.now(), leaseMs);
    const leases = held.flatMap<CommandArgument>(({ storedId, token }) => [storedId, token]);
    const answers = await heartbeaterRenew.run(redis, { attempts, active }, { leaseMs, leases });
    return (answers as string).split('').map((answer) => ({ answer, leaseEndsAt }));
  }

  /** The script accepts an attempt once, so its reports are merged. */
  async #store(reports: readonly AttemptReport[]): Promise<LeaseAnswer[]> {
    const { redis, keys, publish, settings } = this.#shard;
    const { attempts, progress: progressKey, logs, events } = keys.of;
    const merged = new Map<string, AttemptReport>();
    for (const report of reports) {
      const { progress, lines } = merged.get(keyOf(report)) ?? { progress: '', lines: '' };
      merged.set(keyOf(report), {
        ...report,
        progress: report.progress || progress,
        lines: lines + report.lines,
      });
    }
    const entries = [...merged.values()].flatMap<CommandArgument>(({ storedId, token, progress, lines }) => [
      storedId,
      token,
      progress,
      lines,
    ]);
    const answers = (await heartbeaterReport.run(
      redis,
      { attempts, progress: progressKey, logs, events },
      { keepEvents: settings.values.keepEvents, publish, entries },
    )) as string;
    const answerOf = new Map([...merged.keys()].map((key, index) => [key, answers[index]!]));
    return reports.map((report) => answerOf.get(keyOf(report))!);
  }
}

function keyOf({ storedId, token }: AttemptToken): string {
  return `${token} ${storedId.toString('latin1')}`;
}
