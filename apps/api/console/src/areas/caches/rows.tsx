/** Cached rows: the tables with their lag and hits, and one row with its schedule. */
import type { JSX } from 'preact';
import { useCallback, useState } from 'preact/hooks';

import type { AreaProps } from '../../areas.ts';
import { path } from '../../http.ts';
import { useTopic } from '../../live.ts';
import type { LiveEvent } from '../../live.ts';
import { hrefOf, Link, usePlace } from '../../location.ts';
import { useResource } from '../../resource.ts';
import type { Session } from '../../session.ts';
import { mayChange } from '../../session.ts';
import { Bread } from '../../ui/bread.tsx';
import { Card, Empty, Figure, Head, Json, Read, State } from '../../ui/elements.tsx';
import { QueryInput } from '../../ui/query-input.tsx';
import { NextStep } from '../../ui/next-step.tsx';
import { Table } from '../../ui/table.tsx';
import { countText, durationText } from '../../ui/text.ts';
import { RowActions, RowList } from './row-list.tsx';

interface CachedTable {
  readonly table: string;
  readonly scheduled: number;
  readonly loaded: number;
  readonly due: number;
  readonly failing: number;
  readonly shardsDown: number;
  readonly lagMs: number;
  readonly hits: number;
  readonly misses: number;
}

const WHOLE = 100;

export default function Rows({ parts: [table], session }: AreaProps): JSX.Element {
  return table === undefined ? <AllTables /> : <OneTable key={table} table={table} session={session} />;
}

function hitText({ hits, misses }: CachedTable): string {
  const reads = hits + misses;
  return reads === 0 ? '–' : `${((hits / reads) * WHOLE).toFixed(1)} %`;
}

function AllTables(): JSX.Element {
  const tables = useResource<{ items: readonly CachedTable[] }>('cache');
  const [live, setLive] = useState<{ readonly items: readonly CachedTable[] }>();
  useTopic(
    'rows',
    useCallback((event: LiveEvent) => {
      if (event.type === 'rows') setLive({ items: event['items'] as readonly CachedTable[] });
    }, []),
  );
  return (
    <>
      <Head title="Cached rows" />
      <Read of={{ ...tables, value: live ?? tables.value }}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No table is cached.">
              <NextStep
                code="DATABASE_URL=postgres://localhost/shop CACHE_TABLES=stock npm start"
                guide="cache/rows"
              >
                Name tables of your database in <code>CACHE_TABLES</code>.
              </NextStep>
            </Empty>
          ) : (
            <Table
              label="Tables"
              rows={items}
              idOf={(each) => each.table}
              columns={[
                {
                  title: 'Table',
                  cell: (each) => <Link href={hrefOf(['rows', each.table])}>{each.table}</Link>,
                },
                { title: 'Scheduled', kind: 'number', cell: ({ scheduled }) => countText(scheduled) },
                { title: 'Loaded', kind: 'number', cell: ({ loaded }) => countText(loaded) },
                { title: 'Due', kind: 'number', cell: ({ due }) => countText(due) },
                {
                  title: 'Failing',
                  kind: 'number',
                  cell: ({ failing }) =>
                    failing > 0 ? <State tone="bad">{countText(failing)}</State> : countText(failing),
                },
                { title: 'Lag', kind: 'number', cell: ({ lagMs }) => durationText(lagMs) },
                { title: 'Hits of this API process', kind: 'number', cell: hitText },
              ]}
            />
          )
        }
      </Read>
    </>
  );
}

interface OneProps {
  readonly table: string;
  readonly session: Session;
}

function OneTable({ table, session }: OneProps): JSX.Element {
  const status = useResource<CachedTable>(path`cache/${table}`);
  const id = usePlace().query.get('row') ?? '';
  const row = useResource<unknown>(id === '' ? undefined : path`cache/${table}/rows/${id}`);
  const mayWrite = mayChange(session, 'cache:write');
  const reload = useCallback(() => {
    status.reload();
    row.reload();
  }, [status.reload, row.reload]);
  useTopic('rows', reload);
  return (
    <>
      <Head title={<Bread above={[['Cached rows', ['rows']]]} name={table} />} />
      <Read of={status}>
        {(shown) => (
          <div class="grid">
            <Figure
              label="Scheduled"
              value={countText(shown.scheduled)}
              note={`${countText(shown.loaded)} loaded`}
            />
            <Figure
              label="Lag"
              value={durationText(shown.lagMs)}
              note={`${countText(shown.due)} rows are due`}
            />
            <Figure
              label="Hits"
              value={hitText(shown)}
              note={`${countText(shown.misses)} misses, of reads by this API process`}
            />
            <Figure label="Failing" value={countText(shown.failing)} note="their last load failed" />
          </div>
        )}
      </Read>
      <RowList table={table} session={session} reload={reload} />
      <Card title="Row">
        <label class="field">
          <span>Id</span>
          <QueryInput member="row" isFilter value={id} />
          <small>shows what is cached of one row, and offers to refresh it</small>
        </label>
        {id !== '' && <Read of={row}>{(value) => <Json value={value} />}</Read>}
        {id !== '' && mayWrite && <RowActions table={table} id={id} reload={reload} />}
      </Card>
    </>
  );
}
