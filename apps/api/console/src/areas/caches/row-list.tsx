/** The scheduled rows of a table, with what is wrong with them, and the actions on one. */
import type { JSX } from 'preact';

import { call, path, withQuery } from '../../http.ts';
import { useTopic } from '../../live.ts';
import { hrefOf, Link, setQuery, usePlace } from '../../location.ts';
import type { Session } from '../../session.ts';
import { mayChange } from '../../session.ts';
import { Dialog, DialogButton, Field } from '../../ui/dialog.tsx';
import { Card, State } from '../../ui/elements.tsx';
import { usePages } from '../../ui/pages.ts';
import { TableOf } from '../../ui/paged-table.tsx';
import { ACTIONS } from '../../ui/table.tsx';
import { durationText, plural } from '../../ui/text.ts';
import { act } from '../../ui/toasts.tsx';

interface Row {
  readonly id: string;
  readonly refreshMs: number;
  readonly nextInMs: number;
  readonly ageMs: number | null;
  readonly lagMs: number;
  readonly failures: number;
  readonly lastError: string | null;
}

interface ListProps {
  readonly table: string;
  readonly session: Session;
  /** Called after an action. */
  readonly reload: () => void;
}

export function RowList({ table, session, reload }: ListProps): JSX.Element {
  const isFailing = usePlace().query.get('failing') === 'true';
  const rows = usePages<Row>(withQuery(path`cache/${table}/rows`, { isFailing }));
  useTopic('rows', rows.refresh, rows.refresh);
  const mayWrite = mayChange(session, 'cache:write');
  const done = (): void => {
    rows.reload();
    reload();
  };
  return (
    <Card
      title="Scheduled rows"
      actions={
        <label class="row">
          <input
            type="checkbox"
            checked={isFailing}
            onChange={(event) => setQuery({ failing: event.currentTarget.checked ? 'true' : '' })}
          />
          Failing rows only
        </label>
      }
    >
      <TableOf
        pages={rows}
        label="Scheduled rows"
        idOf={({ id }) => id}
        empty={isFailing ? 'No row fails.' : 'No row is scheduled.'}
        hint={
          isFailing ? (
            <span>A row is here from a failed load until the next one that succeeds.</span>
          ) : (
            <span>Write an id below, and schedule its row.</span>
          )
        }
        columns={[
          {
            title: 'Row',
            cell: ({ id }) => (
              <Link
                class="wide"
                href={hrefOf(['rows', table], { row: id, ...(isFailing && { failing: 'true' }) })}
              >
                {id}
              </Link>
            ),
          },
          { title: 'Every', kind: 'number', cell: ({ refreshMs }) => durationText(refreshMs) },
          {
            title: 'Age',
            kind: 'number',
            cell: ({ ageMs }) => (ageMs === null ? 'not loaded' : durationText(ageMs)),
          },
          { title: 'Lag', kind: 'number', cell: ({ lagMs }) => durationText(lagMs) },
          { title: 'Last error', cell: Failure },
          ...(mayWrite
            ? [
                {
                  ...ACTIONS,
                  cell: ({ id }: Row) => <RowActions table={table} id={id} reload={done} isShort />,
                },
              ]
            : []),
        ]}
      />
    </Card>
  );
}

function Failure({ failures, lastError }: Row): JSX.Element {
  if (failures === 0) return <span class="muted">–</span>;
  return (
    <span class="wide">
      <State tone="bad">{plural(failures, 'failure')}</State> {lastError ?? 'its text was not kept'}
    </span>
  );
}

interface ActionProps {
  readonly table: string;
  readonly id: string;
  readonly reload: () => void;
  /** Without the change of the schedule. */
  readonly isShort?: boolean;
}

export function RowActions({ table, id, reload, isShort }: ActionProps): JSX.Element {
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
      {!isShort && <Schedule id={id} address={address} done={done} />}
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

function Schedule(props: {
  readonly id: string;
  readonly address: string;
  readonly done: (text: string, action: () => Promise<unknown>) => Promise<boolean>;
}): JSX.Element {
  const { id, address, done } = props;
  return (
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
  );
}
