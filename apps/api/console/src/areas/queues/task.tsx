/** One task: where it stands, what happened to it, and what can be done. */
import type { JSX } from 'preact';
import { useCallback } from 'preact/hooks';

import { path, withQuery } from '../../http.ts';
import { useTopic } from '../../live.ts';
import type { LiveEvent } from '../../live.ts';
import { go, hrefOf, Link } from '../../location.ts';
import { useResource, useThrottled } from '../../resource.ts';
import type { Session } from '../../session.ts';
import { mayChange } from '../../session.ts';
import { Dialog, DialogButton } from '../../ui/dialog.tsx';
import { Card, Facts, Head, Json, Read, State, Time } from '../../ui/elements.tsx';
import { bytesText } from '../../ui/text.ts';
import { act } from '../../ui/toasts.tsx';
import { ACTION_DONE, ACTION_TITLES, ActionFields, actionBody, isDanger } from './actions.tsx';
import { DeliverButton } from './deliver.tsx';
import { EnqueueButton } from './enqueue.tsx';
import { EventsOff } from './events-off.tsx';
import { Flow } from './flow.tsx';
import { actOnTask } from './one-action.ts';
import { ACTION_STATES, isPossible, toneOf } from './states.ts';
import type { Action } from './states.ts';
import { Timeline } from './timeline.tsx';
import type { QueueView, TaskEvent, TaskEvents, TaskView } from './types.ts';

interface Props {
  readonly queue: string;
  readonly id: string;
  readonly session: Session;
}

/** Longer payloads are cut by the API. */
const MAX_BYTES = 16_384;

export function OneTask({ queue, id, session }: Props): JSX.Element {
  const task = useResource<TaskView>(withQuery(path`queues/${queue}/tasks/${id}`, { maxBytes: MAX_BYTES }));
  const settings = useResource<QueueView>(path`queues/${queue}`);
  const events = useResource<TaskEvents>(path`queues/${queue}/tasks/${id}/events`);
  const reload = useThrottled(
    useCallback(() => {
      task.reload();
      events.reload();
    }, [task.reload, events.reload]),
  );
  useTopic(
    `queue:${encodeURIComponent(queue)}`,
    useCallback(
      (event: LiveEvent) => {
        if (event['id'] === id) reload();
      },
      [id, reload],
    ),
    reload,
  );
  return (
    <>
      <Head
        title={
          <span class="row">
            <Link href={hrefOf(['queues'])}>Queues</Link> /{' '}
            <Link href={hrefOf(['queues', queue])}>{queue}</Link> / {task.value?.name ?? 'task'}
            {task.value && <State tone={toneOf(task.value.state)}>{task.value.state}</State>}
          </span>
        }
      >
        {task.value && (
          <Actions
            queue={queue}
            task={task.value}
            priorities={settings.value?.priorities ?? []}
            session={session}
            reload={task.reload}
          />
        )}
      </Head>
      {events.value?.hasEvents === false && <EventsOff queue={queue} />}
      <Read of={task}>
        {(shown) => <Shown queue={queue} task={shown} events={events.value?.items ?? []} />}
      </Read>
    </>
  );
}

interface ShownProps {
  readonly queue: string;
  readonly task: TaskView;
  readonly events: readonly TaskEvent[];
}

function Shown({ queue, task, events }: ShownProps): JSX.Element {
  const { error, parent } = task;
  return (
    <>
      {error && (
        <Card title={`${error.name}: ${error.message}`} isBad>
          {error.stack !== `${error.name}: ${error.message}` && <pre>{error.stack}</pre>}
        </Card>
      )}
      <div class="columns">
        <div class="stack">
          <Card title="Time line">
            <Timeline task={task} events={events} />
          </Card>
          <Card title="Task">
            <Facts
              of={{
                Id: <code>{task.id}</code>,
                Priority: task.priority,
                Group: task.group,
                Attempt: `${task.attempt} of ${task.attempts}`,
                'Next run': task.runAt === undefined ? undefined : <Time at={task.runAt} />,
                'Lease ends': task.leaseUntil === undefined ? undefined : <Time at={task.leaseUntil} />,
                Expires: task.expiresAt === undefined ? undefined : <Time at={task.expiresAt} />,
                Parent: parent && (
                  <Link class="mono" href={hrefOf(['queues', parent.queue, 'tasks', parent.id])}>
                    {parent.id}
                  </Link>
                ),
                Progress: task.progress === undefined ? undefined : <Json value={task.progress} />,
                Headers:
                  task.headers && Object.keys(task.headers).length > 0 ? (
                    <Json value={task.headers} />
                  ) : undefined,
              }}
            />
          </Card>
          <Flow queue={queue} id={task.id} />
        </div>
        <div class="stack">
          <Value title="Payload" value={task.payload} text={task.payloadText} bytes={task.payloadBytes} />
          {(task.result !== undefined || task.resultText !== undefined) && (
            <Value title="Result" value={task.result} text={task.resultText} bytes={task.resultBytes} />
          )}
        </div>
      </div>
    </>
  );
}

function Value(props: {
  readonly title: string;
  readonly value: unknown;
  readonly text: string | undefined;
  readonly bytes: number | undefined;
}): JSX.Element {
  const { title, value, text, bytes } = props;
  return (
    <Card title={title}>
      {text === undefined ? <Json value={value} /> : <pre>{text}</pre>}
      {text !== undefined && (
        <p class="muted small">
          {bytes === undefined
            ? 'As it is stored: JavaScript would round a number of it.'
            : `The first ${bytesText(MAX_BYTES)} of ${bytesText(bytes)}.`}
        </p>
      )}
    </Card>
  );
}

/** Whether the API has hidden a member of the payload: a copy would have the mark in its place. */
function hasHidden(payload: unknown): boolean {
  return JSON.stringify(payload ?? null).includes('"[redacted]"');
}

function Actions(props: {
  readonly queue: string;
  readonly task: TaskView;
  readonly priorities: readonly string[];
  readonly session: Session;
  readonly reload: () => void;
}): JSX.Element {
  const { queue, task, priorities, session, reload } = props;
  const { id, name, payload, payloadText, priority, state, waitsFor } = task;
  const mayWrite = mayChange(session, 'queues:write');
  const run = async (action: Action, fields: Readonly<Record<string, string>>): Promise<boolean> => {
    const isDone = await act(`The task is ${ACTION_DONE[action]}.`, () =>
      actOnTask(queue, id, action, actionBody(action, fields)),
    );
    if (isDone && action === 'remove') go(hrefOf(['queues', queue]));
    else reload();
    return isDone;
  };
  if (!mayWrite) return <></>;
  const possible = (Object.keys(ACTION_STATES) as Action[]).filter((action) => isPossible(action, state));
  const shown = (actions: readonly Action[]): JSX.Element[] =>
    actions.map((action) =>
      action === 'retry' || action === 'promote' ? (
        <button key={action} type="button" class="primary" onClick={() => void run(action, {})}>
          {ACTION_TITLES[action]}
        </button>
      ) : (
        <DialogButton key={action} label={ACTION_TITLES[action]} isDanger={isDanger(action)}>
          {(close) => (
            <Dialog
              title={`${ACTION_TITLES[action]}: one task`}
              submit={ACTION_TITLES[action]}
              isDanger={isDanger(action)}
              close={close}
              onSubmit={(fields) => run(action, fields)}
            >
              <p class="wide">
                {name} <code>{id}</code>
              </p>
              <ActionFields action={action} priorities={priorities} />
            </Dialog>
          )}
        </DialogButton>
      ),
    );
  return (
    <div class="row">
      {waitsFor !== undefined && <DeliverButton queue={queue} task={id} event={waitsFor} done={reload} />}
      {shown(possible.filter((action) => !isDanger(action)))}
      {payloadText === undefined && !hasHidden(payload) && (
        <EnqueueButton draft={{ queue, name, payload, priority }} label="Run again, edited" />
      )}
      {shown(possible.filter(isDanger))}
    </div>
  );
}
