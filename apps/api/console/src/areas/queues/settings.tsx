/** The settings that all workers of a queue follow, and what empties or removes it. */
import type { JSX } from 'preact';

import { call, path, withQuery } from '../../http.ts';
import { go, hrefOf } from '../../location.ts';
import { useResource } from '../../resource.ts';
import { Dialog, DialogButton, Field } from '../../ui/dialog.tsx';
import { Card, Facts, Trouble } from '../../ui/elements.tsx';
import { countText, durationText } from '../../ui/text.ts';
import { act, tell } from '../../ui/toasts.tsx';
import type { QueueView } from './types.ts';

interface Props {
  readonly view: QueueView;
  readonly reload: () => void;
  readonly mayChange: boolean;
}

export function Settings({ view, reload, mayChange }: Props): JSX.Element {
  const { name, priorities, shards, concurrency, rate, maxTasks } = view;
  return (
    <div class="columns">
      <Card title="Settings" actions={mayChange && <ChangeButton view={view} reload={reload} />}>
        <Facts
          of={{
            Priorities: priorities.join(', '),
            Shards: shards,
            'Active at once': concurrency === null ? 'no limit' : countText(concurrency),
            Starts: rate === null ? 'no limit' : `${countText(rate.limit)} in ${durationText(rate.periodMs)}`,
            'Tasks at most': maxTasks === null ? 'no limit' : countText(maxTasks),
            'Workers handle': <Handled queue={name} />,
          }}
        />
      </Card>
      {mayChange && (
        <Card title="Empty or remove">
          <p class="muted">
            Waiting tasks can be dropped. A queue that no worker uses can be removed with all its data.
          </p>
          <div class="row">
            <DialogButton label="Drop waiting tasks" isDanger>
              {(close) => (
                <Dialog
                  title={`Drop the ${countText(view.counts.ready)} ready tasks of ${name}`}
                  submit="Drop"
                  isDanger
                  close={close}
                  onSubmit={() => drain(name, reload)}
                >
                  <p>Active tasks, and those that wait for their time, stay.</p>
                </Dialog>
              )}
            </DialogButton>
            <DialogButton label="Remove the queue" isDanger>
              {(close) => (
                <Dialog
                  title={`Remove ${name}`}
                  submit="Remove"
                  isDanger
                  close={close}
                  onSubmit={(fields) => remove(name, fields)}
                >
                  <Field label={`Type ${name} to remove it with all its tasks`}>
                    <input name="name" required autocomplete="off" />
                  </Field>
                </Dialog>
              )}
            </DialogButton>
          </div>
        </Card>
      )}
    </div>
  );
}

/** Why tasks wait, often: no worker is there, or none handles their name. */
function Handled({ queue }: { readonly queue: string }): JSX.Element {
  const handled = useResource<{ readonly items: readonly { readonly name: string }[] }>(
    path`queues/${queue}/task-names`,
  );
  if (handled.error) return <Trouble error={handled.error} />;
  const names = handled.value?.items.map(({ name }) => name);
  return <span>{names?.length === 0 ? 'none: no worker with handlers runs' : names?.join(', ')}</span>;
}

async function drain(name: string, reload: () => void): Promise<boolean> {
  try {
    const { tasks } = await call<{ tasks: number }>('POST', path`queues/${name}/drain`, { body: {} });
    tell(`${countText(tasks)} tasks dropped.`);
    reload();
    return true;
  } catch (error) {
    tell((error as Error).message, 'bad');
    return false;
  }
}

function remove(name: string, fields: Readonly<Record<string, string>>): Promise<boolean> {
  if (fields['name'] !== name) {
    tell('The name is another one.', 'bad');
    return Promise.resolve(false);
  }
  return act(`${name} is removed.`, async () => {
    await call('DELETE', withQuery(path`queues/${name}`, { isForced: true }));
    go(hrefOf(['queues']));
  });
}

function numberOf(text: string | undefined): number | null {
  return text === undefined || text === '' ? null : Number(text);
}

function ChangeButton({ view, reload }: Pick<Props, 'view' | 'reload'>): JSX.Element {
  const { name, concurrency, rate, maxTasks } = view;
  const put = async (fields: Readonly<Record<string, string>>): Promise<boolean> => {
    const [limit, periodMs] = [numberOf(fields['limit']), numberOf(fields['periodMs'])];
    const body = {
      concurrency: numberOf(fields['concurrency']),
      rate: limit === null ? null : { limit, periodMs: periodMs ?? 1_000 },
      maxTasks: numberOf(fields['maxTasks']),
    };
    const isDone = await act(`${name} has new settings.`, () => call('PUT', path`queues/${name}`, { body }));
    reload();
    return isDone;
  };
  return (
    <DialogButton label="Change">
      {(close) => (
        <Dialog title={`Settings of ${name}`} submit="Store" close={close} onSubmit={put}>
          <p class="muted">An empty field lifts the limit. Each shard has an equal share of a limit.</p>
          <div class="fields">
            <Field label="Active at once">
              <input name="concurrency" type="number" min="1" defaultValue={concurrency ?? ''} />
            </Field>
            <Field label="Tasks at most">
              <input name="maxTasks" type="number" min="1" defaultValue={maxTasks ?? ''} />
            </Field>
            <Field label="Starts">
              <input name="limit" type="number" min="1" defaultValue={rate?.limit ?? ''} />
            </Field>
            <Field label="In a period of" hint="ms">
              <input name="periodMs" type="number" min="1" defaultValue={rate?.periodMs ?? ''} />
            </Field>
          </div>
        </Dialog>
      )}
    </DialogButton>
  );
}
