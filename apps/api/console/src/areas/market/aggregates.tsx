/** Where the lines of the access logs of a day came from. */
import type { JSX } from 'preact';

import type { AreaProps } from '../../areas.ts';
import { path, withQuery } from '../../http.ts';
import { hrefOf, setQuery, usePlace } from '../../location.ts';
import { useResource } from '../../resource.ts';
import { Empty, Figure, Head, Read, Share, Tabs } from '../../ui/elements.tsx';
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

function today(): string {
  return new Date().toISOString().slice(0, DAY_LENGTH);
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
              <Figure label="Places" value={countText(places)} note={`the first ${items.length} below`} />
            </div>
            {items.length === 0 ? (
              <Empty title="No line of this day is counted.">
                <span>The worker counts access logs that senders put into a channel of files.</span>
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
          </>
        )}
      </Read>
    </>
  );
}

function nameOf({ country, region, city }: Place): string {
  return [city, region, country].filter((part) => part !== undefined && part !== '').join(', ') || 'unknown';
}
