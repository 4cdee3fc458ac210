/** The schedules of a queue with their next times. */
import type { JSX } from 'preact';

import { call, path } from '../../http.ts';
import { useResource } from '../../resource.ts';
import type { Session } from '../../session.ts';
import { mayChange } from '../../session.ts';
import { Dialog, DialogButton, Field } from '../../ui/dialog.tsx';
import { Empty, Read, Time } from '../../ui/elements.tsx';
import { ACTIONS, Table } from '../../ui/table.tsx';
import { countText, durationText, instantText, jsonText } from '../../ui/text.ts';
import { payloadOf } from '../../ui/payload.ts';
import { act } from '../../ui/toasts.tsx';
import type { Schedule } from './types.ts';

interface Props {
  readonly queue: string;
  readonly session: Session;
}

export function Schedules({ queue, session }: Props): JSX.Element {
  const schedules = useResource<{ items: readonly Schedule[] }>(path`queues/${queue}/schedules`);
  const mayWrite = mayChange(session, 'queues:write');
  const remove = async (key: string): Promise<boolean> => {
    const isDone = await act(`The schedule ${key} is deleted.`, () =>
      call('DELETE', path`queues/${queue}/schedules/${key}`),
    );
    schedules.reload();
    return isDone;
  };
  return (
    <div class="stack">
      {mayWrite && (
        <div class="row">
          <PutButton queue={queue} done={schedules.reload} />
        </div>
      )}
      <Read of={schedules}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="There is no schedule.">
              <span>A schedule enqueues a task at times of a cron expression, or every so often.</span>
            </Empty>
          ) : (
            <Table
              label="Schedules"
              rows={items}
              idOf={({ key }) => key}
              columns={[
                { title: 'Key', cell: ({ key }) => <span class="mono wide">{key}</span> },
                { title: 'Task', cell: ({ name }) => name },
                { title: 'When', cell: whenText },
                {
                  title: 'Next',
                  kind: 'fit',
                  cell: ({ nextAt }) =>
                    nextAt === undefined ? (
                      <span class="muted">ended</span>
                    ) : (
                      <>
                        <Time at={nextAt} /> <span class="muted">{instantText(nextAt)}</span>
                      </>
                    ),
                },
                { title: 'Last', kind: 'fit', cell: ({ lastAt }) => <Time at={lastAt} /> },
                { title: 'Runs', kind: 'number', cell: ({ runs }) => countText(runs) },
                {
                  ...ACTIONS,
                  cell: ({ key }) =>
                    mayWrite && (
                      <DialogButton label="Delete" isDanger>
                        {(close) => (
                          <Dialog
                            title={`Delete the schedule ${key}`}
                            submit="Delete"
                            isDanger
                            close={close}
                            onSubmit={() => remove(key)}
                          >
                            <p>Tasks that it has enqueued stay.</p>
                          </Dialog>
                        )}
                      </DialogButton>
                    ),
                },
              ]}
            />
          )
        }
      </Read>
    </div>
  );
}

function whenText({ cron, timezone = 'UTC', everyMs, problem }: Schedule): JSX.Element {
  if (problem !== undefined) return <span class="problem">{problem}</span>;
  return cron === undefined ? (
    <span>every {durationText(everyMs ?? 0)}</span>
  ) : (
    <span>
      <code>{cron}</code> <span class="muted">{timezone}</span>
    </span>
  );
}

const SECOND_MS = 1_000;

function PutButton({ queue, done }: { readonly queue: string; readonly done: () => void }): JSX.Element {
  const put = async (fields: Readonly<Record<string, string>>): Promise<boolean> => {
    const { key = '', cron = '', timezone = '', every = '', name, payload = 'null' } = fields;
    const written = payloadOf(payload);
    if (!written) return false;
    const body = {
      ...(cron !== '' && { cron }),
      ...(timezone !== '' && { timezone }),
      ...(every !== '' && { everyMs: Math.round(Number(every) * SECOND_MS) }),
      name,
      payload: written.value,
    };
    const isDone = await act(`The schedule ${key} is stored.`, () =>
      call('PUT', path`queues/${queue}/schedules/${key}`, { body }),
    );
    if (isDone) done();
    return isDone;
  };
  return (
    <DialogButton label="Add a schedule">
      {(close) => (
        <Dialog title="Add a schedule" submit="Store" close={close} onSubmit={put}>
          <Field label="Key" hint="a schedule with the same key is replaced">
            <input name="key" required />
          </Field>
          <div class="fields">
            <Field label="Cron" hint="five fields, or six with seconds first">
              <input name="cron" class="mono" placeholder="0 9 * * 1-5" />
            </Field>
            <Field label="Time zone" hint="empty: UTC">
              <input name="timezone" placeholder="Europe/Berlin" />
            </Field>
          </div>
          <div class="fields">
            <Field label="Every" hint="seconds, instead of cron">
              <input name="every" type="number" min="1" step="any" />
            </Field>
            <Field label="Name of the task">
              <input name="name" required />
            </Field>
          </div>
          <Field label="Payload" hint="JSON">
            <textarea name="payload" spellcheck={false} defaultValue={jsonText({})} />
          </Field>
        </Dialog>
      )}
    </DialogButton>
  );
}
