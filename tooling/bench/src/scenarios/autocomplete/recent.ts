import { crewWork } from '../../crew.js';
import type { Bar, Competitor, Scenario } from '../../scenario.js';
import type { RecentReport, RecentSettings } from './recent.process.js';
import type { RecentKind } from './recent-kinds.js';
import { CAPACITY, RECENT, RECENT_BOOK, RECENT_LIMIT, RECENT_PACKED, RECENT_ZSET } from './recent-kinds.js';

const SECONDS = 1;
const WARM_UP_SECONDS = 0.3;
const USERS = 2_000;
const CALLERS = 50;
/** 1.75 KB. */
const MOST_BYTES = 1_792;
const RATE = 'operations/s';
const BYTES = 'bytes a user';
const AOF = 'AOF bytes';
const RIGHT = 'right, %';

function competitor(kind: RecentKind, verb: RecentSettings['verb']): Competitor {
  return {
    name: kind.name,
    version: kind.version,
    prepare: (_redis, { url, seconds = SECONDS, scale }) =>
      crewWork<RecentReport>({
        module: new URL('recent.process.js', import.meta.url),
        settings: [
          {
            url,
            kind: kind.name,
            verb,
            users: Math.ceil(USERS * scale),
            callers: CALLERS,
          } satisfies RecentSettings,
        ],
        warmUpSeconds: WARM_UP_SECONDS,
        seconds,
        outcome: ([report]) => ({
          operations: report!.operations,
          figures: {
            'p50 µs': report!.p50Micros,
            'p99 µs': report!.p99Micros,
            [BYTES]: report!.bytesOfUser,
            [AOF]: report!.aofBytes,
            ...(verb === 'complete' && { [RIGHT]: 100 * report!.right }),
          },
        }),
      }),
  };
}

function scenario(
  verb: RecentSettings['verb'],
  rest: Pick<Scenario, 'title' | 'operation'>,
  bars: readonly Omit<Bar, 'competitor'>[],
): Scenario {
  return {
    ...rest,
    name: `autocomplete.recent-${verb}`,
    method:
      `${USERS} users with ${CAPACITY} contacts each, who are handles of 11.8 bytes on average; one process with ${CALLERS} callers, each of whom waits for one call before the next. The book and the sorted set send all ` +
      'contacts to the client, which looks through them. The packed string has all contacts of a user, and its script looks through it.',
    competitors: [RECENT, RECENT_BOOK, RECENT_ZSET, RECENT_PACKED].map((kind) => competitor(kind, verb)),
    columns: [
      RATE,
      'p50 µs',
      'p99 µs',
      'Redis CPU µs',
      'Node CPU µs',
      'commands sent',
      'bytes out',
      BYTES,
      AOF,
      ...(verb === 'complete' ? [RIGHT] : []),
    ],
    bars: bars.map((bar) => ({ ...bar, competitor: RECENT.name })),
  };
}

/** As it is here; and as it would be where the book does what it did in the reference. */
function rate(atLeast: number, ofBook: number): Omit<Bar, 'competitor'>[] {
  const bar = { figure: RATE, atLeast };
  return [bar, { ...bar, times: RECENT_BOOK.name, onReference: ofBook }];
}

export const recent: readonly Scenario[] = [
  scenario('touch', { title: 'Autocomplete: recent contacts, touches', operation: 'one contact touched' }, [
    ...rate(100_000, 35_000),
    { figure: BYTES, atMost: MOST_BYTES },
  ]),
  scenario(
    'complete',
    {
      title: 'Autocomplete: recent contacts, completions',
      operation: `one completion of 1 to 3 letters, up to ${RECENT_LIMIT} contacts`,
    },
    [
      ...rate(38_000, 23_500),
      { figure: RATE, atLeast: 0.9, times: RECENT_PACKED.name },
      { figure: RIGHT, atLeast: 100 },
      { figure: AOF, atMost: 0 },
    ],
  ),
];
