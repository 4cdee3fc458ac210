/** Access logs of the game: files that a program sends over HTTP, and whose lines a worker counts by day and country. */
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '@mortise/test-kit';
import type { Answer, ServiceClient } from './client.js';

export const LOG_CHANNEL = 'logs';
/** Addresses of the first network are in the first country, and so on. */
export const RANGES_CSV =
  '8.8.8.0,8.8.8.255,US,California,Mountain View\n1.1.1.0,1.1.1.255,AU,Queensland,Brisbane\n';

const ADDRESSES = { US: '8.8.8.8', AU: '1.1.1.1' };
type Country = keyof typeof ADDRESSES;
type Totals = Readonly<Record<Country, number>>;

/** Of the workers, the one of this name counts. The others take its place when it dies. */
const RECEIVER = 'worker';
const PAUSE_MS = 100;
const REST_MS = 60_000;

type SentFile = Pick<Answer, 'calledAt' | 'answeredAt'> & { readonly lines: Totals };

export class AccessLogs {
  readonly sent: SentFile[] = [];
  /** All lines are of the day on which the run began. */
  readonly #day = new Date().toISOString().slice(0, 10);
  readonly #client: ServiceClient;

  constructor(client: ServiceClient) {
    this.#client = client;
  }

  async prepare(): Promise<void> {
    await this.#client.get('PUT', `file-channels/${LOG_CHANNEL}/receivers/${RECEIVER}`);
  }

  /** Sends files until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    for (let n = 0; !signal.aborted; n += 1) {
      const lines = { US: 1 + (n % 50), AU: 1 + (n % 7) };
      const text = Object.entries(lines).map(([country, count]) =>
        `${ADDRESSES[country as Country]} ${this.#day} 12:00:00 GET /item/${n}\n`.repeat(count),
      );
      const file = { bytes: Buffer.from(text.join('')), requestKey: `log-${n}` };
      const path = `file-channels/${LOG_CHANNEL}/files?name=access-${n}.log`;
      const { calledAt, answeredAt } = await this.#client.get('POST', path, file);
      this.sent.push({ calledAt, answeredAt, lines });
      await pause(PAUSE_MS);
    }
  }

  /** The counts of the day, once they have these lines at least, or don't get them. */
  async counted(least: Totals): Promise<Totals> {
    let counts: Totals = { US: 0, AU: 0 };
    const isEnough = async (): Promise<boolean> => {
      const { document } = await this.#client.get('GET', `aggregates/daily/country/${this.#day}`);
      const items = document.items as { country: Country; count: number }[];
      counts = { US: 0, AU: 0, ...Object.fromEntries(items.map(({ country, count }) => [country, count])) };
      return counts.US >= least.US && counts.AU >= least.AU;
    };
    // The caller reports lines that never come.
    await until('all lines are counted', isEnough, REST_MS).catch(() => undefined);
    return counts;
  }
}

/** The lines of these files in all. */
export function linesOf(files: readonly SentFile[]): Totals {
  const sum = (country: Country): number => files.reduce((total, { lines }) => total + lines[country], 0);
  return { US: sum('US'), AU: sum('AU') };
}
