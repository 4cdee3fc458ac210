import { crewWork } from '../../crew.js';
import { number } from '../../report.js';
import type { Bar, Competitor, Printed, Scenario } from '../../scenario.js';
import { versionOf } from '../../version-of.js';
import type { Strategy } from './market-strategies.js';
import type { MarketReport, MarketSettings } from './market.process.js';

const SECONDS = 1.25;
const WARM_UP_SECONDS = 0.3;

const WATCH = 'WATCH/MULTI/EXEC';
const FINE = 'a Mutex for each item';

const STRATEGIES: readonly { strategy: Strategy; name: string; version: string }[] = [
  { strategy: 'watch', name: WATCH, version: '' },
  { strategy: 'coarse', name: 'one Mutex for the market', version: versionOf('@mortise/locks') },
  { strategy: 'fine', name: FINE, version: versionOf('@mortise/locks') },
  { strategy: 'script', name: 'one Lua script', version: '' },
];

/** Tables 6.1, 6.2 and 6.3 of Redis in Action, over 60 seconds: listed, bought, purchase retries, mean wait. */
const BOOK: Readonly<Record<string, readonly (readonly [string, string, string, string, string])[]>> = {
  '1+1': [
    ['6.1, no lock', '145,000', '27,000', '80,000', '14'],
    ['6.2, with lock', '51,000', '50,000', '0', '1'],
    ['6.3, fine-grained lock', '113,000', '110,000', '0', '<1'],
  ],
  '5+1': [
    ['6.1, no lock', '331,000', '<200', '50,000', '150'],
    ['6.2, with lock', '68,000', '13,000', '<10', '5'],
    ['6.3, fine-grained lock', '192,000', '36,000', '0', '<2'],
  ],
  '5+5': [
    ['6.1, no lock', '206,000', '<600', '161,000', '498'],
    ['6.2, with lock', '21,000', '20,500', '0', '14'],
    ['6.3, fine-grained lock', '116,000', '111,000', '0', '<3'],
  ],
};

function competitor(
  { strategy, name, version }: (typeof STRATEGIES)[number],
  listers: number,
  buyers: number,
): Competitor {
  return {
    name,
    version,
    prepare: (_redis, { url, seconds = SECONDS }) =>
      crewWork<MarketReport>({
        module: new URL('market.process.js', import.meta.url),
        settings: [
          ...actors('lister', listers).map((actor) => ({ url, strategy, ...actor })),
          ...actors('buyer', buyers).map((actor) => ({ url, strategy, ...actor })),
        ] satisfies MarketSettings[],
        warmUpSeconds: WARM_UP_SECONDS,
        seconds,
        outcome: (reports, { seconds: elapsed }) => {
          const sum = (of: keyof MarketReport): number => reports.reduce((so, report) => so + report[of], 0);
          return {
            operations: sum('listed') + sum('bought'),
            figures: {
              'listed/s': sum('listed') / elapsed,
              'bought/s': sum('bought') / elapsed,
              'purchase retries/s': sum('retries') / elapsed,
              'mean wait ms': sum('waitedMs') / sum('bought'),
            },
          };
        },
      }),
  };
}

function actors<Role extends string>(role: Role, count: number): { role: Role; user: string }[] {
  return Array.from({ length: count }, (_, index) => ({ role, user: `${role}${index}` }));
}

/** A row of the book, per second. */
function printed([table, ...figures]: (typeof BOOK)[string][number]): Printed {
  const [listed, bought, retries, wait] = figures;
  return {
    name: `Redis in Action, table ${table}`,
    figures: {
      'listed/s': perSecond(listed),
      'bought/s': perSecond(bought),
      'purchase retries/s': perSecond(retries),
      'mean wait ms': wait,
    },
  };
}

function perSecond(overAMinute: string): string {
  const [, below = '', digits = ''] = /^(<?)([\d,]+)$/.exec(overAMinute)!;
  return below + number(Number(digits.replaceAll(',', '')) / 60);
}

function scenario(listers: number, buyers: number, bars: readonly Bar[] = []): Scenario {
  return {
    name: `locks.market-${listers}-${buyers}`,
    title: `Locks: the market of table 6.1, ${listers} ${listers === 1 ? 'seller' : 'sellers'}, ${buyers} ${buyers === 1 ? 'buyer' : 'buyers'}`,
    operation: 'an item listed or bought',
    method:
      'Every seller and buyer is a process with a connection. A buyer draws an item with ZRANDMEMBER; its wait lasts from there until a ' +
      "purchase. The book's figures are those of its 60 seconds, divided by 60, on the machines of 2012: compare how the ways relate.",
    competitors: STRATEGIES.map((strategy) => competitor(strategy, listers, buyers)),
    columns: ['listed/s', 'bought/s', 'purchase retries/s', 'mean wait ms', 'commands sent', 'Redis CPU µs'],
    drawn: 'bought/s',
    printed: BOOK[`${listers}+${buyers}`]!.map(printed),
    bars,
  };
}

export const market: readonly Scenario[] = [
  scenario(1, 1),
  scenario(5, 1),
  scenario(5, 5, [{ competitor: FINE, figure: 'mean wait ms', atMost: 0.2, times: WATCH }]),
];
