/** Where the lines of the access logs of a day came from, and how many there were on the days before. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import type { AreaProps } from '../../areas.ts';
import { get, path, withQuery } from '../../http.ts';
import { hrefOf, setQuery, usePlace } from '../../location.ts';
import { useResource } from '../../resource.ts';
import { Card, Empty, Figure, Head, Read, Share, Tabs } from '../../ui/elements.tsx';
import { LazyChart } from '../../ui/lazy-chart.tsx';
import { NextStep } from '../../ui/next-step.tsx';
import { Table } from '../../ui/table.tsx';
import { countText } from '../../ui/text.ts';

const DIMENSIONS = ['country', 'region', 'city'] as const;

interface Place {
  readonly country: string;
  readonly region?: string;
  readonly city?: string;
  readonly count: number;
}

interface DailyTop {
  readonly total: number;
  readonly places: number;
  readonly items: readonly Place[];
}

const SHOWN = 50;
const DAY_LENGTH = 10;
const DAY_MS = 86_400_000;
const SHOWN_DAYS = 14;
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, DAY_LENGTH);
}

function today(): string {
  return dayOf(Date.now());
}

export default function Aggregates(_props: AreaProps): JSX.Element {
  const { query } = usePlace();
  const day = query.get('day') ?? today();
  const dimension = DIMENSIONS.find((each) => each === query.get('by')) ?? 'country';
  const top = useResource<DailyTop>(withQuery(path`aggregates/daily/${dimension}/${day}`, { limit: SHOWN }));
  return (
    <>
      <Head title="Access logs">
        <label class="row">
          <span>Day</span>
          <input
            type="date"
            value={day}
            max={today()}
            onChange={(event) => setQuery({ day: event.currentTarget.value || undefined })}
          />
        </label>
      </Head>
      <Tabs
        label="Count by"
        current={dimension}
        tabs={DIMENSIONS.map((key) => ({
          key,
          href: hrefOf(['aggregates'], { by: key, day: query.get('day') ?? undefined }),
          title: key[0]!.toUpperCase() + key.slice(1),
        }))}
      />
      <Read of={top}>
        {({ total, places, items }) => (
          <>
            <div class="grid">
              <Figure label="Lines" value={countText(total)} note={`of ${day}`} />
              <Figure
                label="Places"
                value={countText(places)}
                note={items.length > 0 ? `the first ${items.length} below` : ' '}
              />
            </div>
            <div class="columns">
              {items.length === 0 ? (
                <Empty title="No line of this day is counted.">
                  <NextStep
                    code="ACCESS_LOG_CHANNEL=access-logs GEO_RANGES=ranges.csv npm start"
                    guide="service/worker"
                  >
                    The worker counts the access logs that senders put into a channel of files.
                  </NextStep>
                </Empty>
              ) : (
                <Table
                  label="Places"
                  rows={items}
                  idOf={nameOf}
                  columns={[
                    { title: 'Place', cell: nameOf },
                    { title: 'Lines', kind: 'number', cell: ({ count }) => countText(count) },
                    {
                      title: 'Share',
                      cell: ({ count }) => (
                        <Share used={count} of={items[0]!.count} label={`${countText(count)} lines`} />
                      ),
                    },
                  ]}
                />
              )}
              <Days until={day} />
            </div>
          </>
        )}
      </Read>
    </>
  );
}

/** Lines of each day, by one small answer for each. */
function Days({ until }: { readonly until: string }): JSX.Element {
  const [totals, setTotals] = useState<readonly number[]>();
  const last = Date.parse(until);
  const times = Array.from({ length: SHOWN_DAYS }, (_, index) => last - (SHOWN_DAYS - 1 - index) * DAY_MS);
  useEffect(() => {
    const ended = new AbortController();
    const reads = times.map((at) =>
      get<DailyTop>(withQuery(path`aggregates/daily/country/${dayOf(at)}`, { limit: 1 }), ended.signal),
    );
    Promise.all(reads).then(
      (days) => setTotals(days.map(({ total }) => total)),
      // The table says why the API refuses.
      () => undefined,
    );
    return () => ended.abort();
  }, [until]);
  return (
    <Card title={`Lines a day, ${SHOWN_DAYS} days`}>
      {totals?.every((total) => total === 0) && <p class="muted">No line was counted.</p>}
      {totals?.some((total) => total > 0) && (
        <LazyChart
          label="Lines by day"
          times={times}
          textOf={countText}
          dayOf={(at) => DAY.format(at)}
          series={[{ label: 'lines', color: '--busy', values: totals }]}
        />
      )}
    </Card>
  );
}

function nameOf({ country, region, city }: Place): string {
  return [city, region, country].filter((part) => part !== undefined && part !== '').join(', ') || 'unknown';
}
