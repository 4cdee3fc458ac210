/** Actions on the selected tasks, and on all that match the filter: the API does those in the background and tells how far it is. */
import type { JSX } from 'preact';
import { useCallback, useEffect, useState } from 'preact/hooks';

import { call, get, path, withQuery } from '../../http.ts';
import { useTopic } from '../../live.ts';
import type { LiveEvent } from '../../live.ts';
import { Dialog, DialogButton } from '../../ui/dialog.tsx';
import type { Page } from '../../ui/pages.ts';
import { countText, plural } from '../../ui/text.ts';
import { act, tell } from '../../ui/toasts.tsx';
import { ACTION_DONE, ACTION_TITLES, ActionFields, actionBody, isDanger } from './actions.tsx';
import type { Filter } from './filter.ts';
import { filterText } from './filter.ts';
import { actOnTask } from './one-action.ts';
import { ACTION_STATES, isPossible } from './states.ts';
import type { Action } from './states.ts';
import type { QueueView, TaskSummary } from './types.ts';

interface Props {
  readonly view: QueueView;
  readonly filter: Filter;
  /** The selected tasks. */
  readonly ids: readonly string[];
  readonly done: () => void;
}

interface Operation {
  readonly id: string;
  readonly action: Action;
  readonly limit: number;
  readonly status: 'running' | 'completed' | 'interrupted' | 'failed';
  readonly changed: number;
  readonly skipped: number;
}

const COUNT_PAGE = 200;
const MAX_COUNT_PAGES = 25;

export function BulkActions({ view, filter, ids, done }: Props): JSX.Element | null {
  const [operation, setOperation] = useState<string>();
  const actions = (Object.keys(ACTION_STATES) as Action[]).filter((action) =>
    isPossible(action, filter.state),
  );
  if (view.counts[filter.state] === 0 && operation === undefined) return null;
  // All tasks that match would be more of them than somebody has asked for.
  const isUnclear = ids.length === 0 && filter.unknown.length > 0;
  return (
    <div class="dock">
      {operation !== undefined && <Progress key={operation} id={operation} done={done} />}
      {!isUnclear && (
        <div class="selection" role="toolbar" aria-label="Actions on tasks">
          <span>
            {ids.length > 0 ? `${plural(ids.length, 'task')} selected` : `All ${filterText(filter)}`}
          </span>
          {actions.map((action) => (
            <DialogButton key={action} label={ACTION_TITLES[action]} isDanger={isDanger(action)}>
              {(close) =>
                ids.length > 0 ? (
                  <SelectedDialog {...{ view, action, ids, close, done }} />
                ) : (
                  <MatchingDialog {...{ view, action, filter, close }} started={setOperation} />
                )
              }
            </DialogButton>
          ))}
        </div>
      )}
    </div>
  );
}

interface DialogProps {
  readonly view: QueueView;
  readonly action: Action;
  readonly close: () => void;
}

function SelectedDialog(props: DialogProps & Pick<Props, 'ids' | 'done'>): JSX.Element {
  const { view, action, ids, close, done } = props;
  const submit = async (fields: Readonly<Record<string, string>>): Promise<boolean> => {
    const body = actionBody(action, fields);
    const outcomes = await Promise.allSettled(ids.map((id) => actOnTask(view.name, id, action, body)));
    const failures = outcomes.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []));
    const changed = ids.length - failures.length;
    if (changed > 0) tell(`${plural(changed, 'task')} ${ACTION_DONE[action]}.`);
    if (failures[0]) tell(`${plural(failures.length, 'task')} refused: ${failures[0].message}`, 'bad');
    done();
    return true;
  };
  const title = `${ACTION_TITLES[action]}: ${plural(ids.length, 'task')}`;
  return (
    <Dialog title={title} submit={title} isDanger={isDanger(action)} close={close} onSubmit={submit}>
      <ActionFields action={action} priorities={view.priorities} />
    </Dialog>
  );
}

function MatchingDialog(
  props: DialogProps & { readonly filter: Filter; readonly started: (id: string) => void },
): JSX.Element {
  const { view, action, filter, close, started } = props;
  const count = useCount(view, filter);
  const submit = (fields: Readonly<Record<string, string>>): Promise<boolean> =>
    act(undefined, async () => {
      const { state, name, field, equals } = filter;
      const body = { action, state, name, field, equals, limit: 1_000_000, ...actionBody(action, fields) };
      const { id } = await call<Operation>('POST', path`queues/${view.name}/bulk-operations`, { body });
      started(id);
    });
  const what = count ? `${count.isLess ? 'at least ' : ''}${plural(count.tasks, 'task')}` : 'counting …';
  return (
    <Dialog
      title={`${ACTION_TITLES[action]}: ${what}`}
      submit={`${ACTION_TITLES[action]} ${what}`}
      isWaiting={count === undefined}
      isDanger={isDanger(action)}
      close={close}
      onSubmit={submit}
    >
      <p>
        All tasks of {view.name} that match <code>{filterText(filter)}</code>, also those that this page does
        not show.
      </p>
      <ActionFields action={action} priorities={view.priorities} />
    </Dialog>
  );
}

/** How many tasks match: known for a state alone, else counted by pages up to a bound. */
function useCount(view: QueueView, filter: Filter): { tasks: number; isLess: boolean } | undefined {
  const { state, name, field, equals } = filter;
  const isWhole = name === undefined && field === undefined;
  const [count, setCount] = useState(isWhole ? { tasks: view.counts[state], isLess: false } : undefined);
  useEffect(() => {
    if (isWhole) return undefined;
    const ended = new AbortController();
    const address = path`queues/${view.name}/tasks`;
    const read = async (): Promise<void> => {
      let [tasks, cursor] = [0, undefined as string | null | undefined];
      for (let page = 0; page < MAX_COUNT_PAGES && cursor !== null; page += 1) {
        const query = { state, name, field, equals, limit: COUNT_PAGE, cursor };
        const found: Page<TaskSummary> = await get(withQuery(address, query), ended.signal);
        tasks += found.items.length;
        cursor = found.nextCursor ?? null;
      }
      setCount({ tasks, isLess: cursor !== null });
    };
    // The dialog then says that it doesn't know the number.
    read().catch(() => !ended.signal.aborted && setCount({ tasks: 0, isLess: true }));
    return () => ended.abort();
  }, []);
  return count;
}

interface ProgressProps {
  readonly id: string;
  readonly done: () => void;
}

/** The topic of the operation begins with how far it is, also after a stream was opened again. */
function Progress({ id, done }: ProgressProps): JSX.Element | null {
  const [value, setValue] = useState<Operation>();
  const onEvent = useCallback((event: LiveEvent) => {
    if (event.type === 'operation') setValue(event as unknown as Operation);
  }, []);
  useTopic(`operation:${encodeURIComponent(id)}`, onEvent);
  const status = value?.status;
  useEffect(() => {
    if (status !== undefined && status !== 'running') done();
  }, [status]);
  if (!value) return null;
  const { changed, skipped, action } = value;
  const text = `${countText(changed)} ${ACTION_DONE[action]}${skipped > 0 ? `, ${countText(skipped)} had changed before` : ''}`;
  return (
    <p class="card" role="status">
      {status === 'running' && <progress aria-label="The operation runs" />}
      <span>
        {
          { running: 'Running', completed: 'Done', interrupted: 'Interrupted', failed: 'Failed' }[
            value.status
          ]
        }
        : {text}.
      </span>
    </p>
  );
}
