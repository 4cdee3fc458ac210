/** Cached rows: the tables with their lag and hits, and one row with its schedule. */
import type { JSX } from 'preact';
import { useCallback, useState } from 'preact/hooks';

import type { AreaProps } from '../../areas.ts';
import { call, path } from '../../http.ts';
import { useTopic } from '../../live.ts';
import type { LiveEvent } from '../../live.ts';
import { hrefOf, Link, usePlace } from '../../location.ts';
import { useResource } from '../../resource.ts';
import type { Session } from '../../session.ts';
import { mayChange } from '../../session.ts';
import { Bread } from '../../ui/bread.tsx';
import { Dialog, DialogButton, Field } from '../../ui/dialog.tsx';
import { Card, Empty, Figure, Head, Json, Read, State } from '../../ui/elements.tsx';
import { QueryInput } from '../../ui/query-input.tsx';
import { NextStep } from '../../ui/next-step.tsx';
import { Table } from '../../ui/table.tsx';
import { countText, durationText } from '../../ui/text.ts';
import { act } from '../../ui/toasts.tsx';

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
                { title: 'Hits', kind: 'number', cell: hitText },
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
            <Figure label="Hits" value={hitText(shown)} note={`${countText(shown.misses)} misses`} />
            <Figure label="Failing" value={countText(shown.failing)} note="their source does not answer" />
          </div>
        )}
      </Read>
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

function RowActions(props: {
  readonly table: string;
  readonly id: string;
  readonly reload: () => void;
}): JSX.Element {
  const { table, id, reload } = props;
  const address = path`cache/${table}/rows/${id}`;
  const done = async (text: string, action: () => Promise<unknown>): Promise<boolean> => {
    const isDone = await act(text, action);
    reload();
    return isDone;
  };
  return (
    <div class="row">
      <button
        type="button"
        onClick={() => void done('It is loaded now.', () => call('POST', `${address}/refresh`))}
      >
        Refresh now
      </button>
      <DialogButton label="Schedule">
        {(close) => (
          <Dialog
            title={`Keep row ${id} fresh`}
            submit="Schedule"
            close={close}
            onSubmit={({ seconds }) =>
              done(`Row ${id} is refreshed every ${seconds} s.`, () =>
                call('PUT', address, { body: { refreshMs: Math.round(Number(seconds) * 1_000) } }),
              )
            }
          >
            <Field label="Refresh every" hint="seconds">
              <input name="seconds" type="number" min="0.1" step="any" required defaultValue="5" />
            </Field>
          </Dialog>
        )}
      </DialogButton>
      <DialogButton label="Unschedule" isDanger>
        {(close) => (
          <Dialog
            title={`Stop refreshing row ${id}`}
            submit="Unschedule"
            isDanger
            close={close}
            onSubmit={() => done(`Row ${id} is not refreshed any more.`, () => call('DELETE', address))}
          >
            <p>The cached row is deleted.</p>
          </Dialog>
        )}
      </DialogButton>
    </div>
  );
}
