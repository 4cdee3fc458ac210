/** One queue: its figures, and its tasks, schedules, events and settings. */
import type { JSX } from 'preact';
import { useCallback } from 'preact/hooks';

import { call, path } from '../../http.ts';
import { useTopic } from '../../live.ts';
import { hrefOf, Link } from '../../location.ts';
import { useResource, useThrottled } from '../../resource.ts';
import type { Session } from '../../session.ts';
import { mayChange } from '../../session.ts';
import { Empty, Figure, Head, Read, State, Tabs } from '../../ui/elements.tsx';
import { countText, durationText } from '../../ui/text.ts';
import { act } from '../../ui/toasts.tsx';
import { Depths } from './depths.tsx';
import { EnqueueButton } from './enqueue.tsx';
import { EventsOff } from './events-off.tsx';
import { Events } from './events.tsx';
import { Schedules } from './schedules.tsx';
import { Settings } from './settings.tsx';
import { STATES } from './states.ts';
import { Tasks } from './tasks.tsx';
import type { QueueView, Times } from './types.ts';

interface Props {
  readonly queue: string;
  readonly tab: string;
  readonly session: Session;
}

const TABS = ['tasks', 'waiting', 'schedules', 'events', 'settings'] as const;
const TIMES_RELOAD_MS = 5_000;

export function OneQueue({ queue, tab, session }: Props): JSX.Element {
  const view = useResource<QueueView>(path`queues/${queue}`);
  const times = useResource<Times>(path`queues/${queue}/times`);
  const reload = useThrottled(view.reload, 500);
  const reloadTimes = useThrottled(times.reload, TIMES_RELOAD_MS);
  useTopic(
    // The API refuses the topic of a queue that is not there, and then the page would say that it is not live.
    view.value && `queue:${encodeURIComponent(queue)}`,
    useCallback(() => {
      reload();
      reloadTimes();
    }, [reload, reloadTimes]),
    // The events may have been switched on meanwhile, and then there are times.
    useCallback(() => {
      reload();
      times.reload();
    }, [reload, times.reload]),
  );
  const mayOperate = mayChange(session, 'queues:admin');
  return (
    <>
      <Head
        title={
          <span class="row">
            <Link href={hrefOf(['queues'])}>Queues</Link> / {queue}
            {view.value?.isPaused && <State tone="wait">paused</State>}
          </span>
        }
      >
        {mayChange(session, 'queues:write') && <EnqueueButton draft={{ queue }} />}
        {mayOperate && view.value && <PauseButton view={view.value} reload={view.reload} />}
      </Head>
      <Read of={view} missing={<NoQueue queue={queue} />}>
        {(shown) => (
          <>
            {times.value?.hasEvents === false && <EventsOff queue={queue} />}
            <Figures view={shown} times={times.value} />
            <Tabs
              label="Parts of the queue"
              current={tab}
              tabs={TABS.map((key) => ({
                key,
                href: hrefOf(key === 'tasks' ? ['queues', queue] : ['queues', queue, key]),
                title: key[0]!.toUpperCase() + key.slice(1),
              }))}
            />
            {tab === 'tasks' && <Tasks view={shown} session={session} />}
            {tab === 'waiting' && <Depths queue={queue} />}
            {tab === 'schedules' && <Schedules queue={queue} session={session} />}
            {tab === 'events' && <Events queue={queue} />}
            {tab === 'settings' && <Settings view={shown} reload={view.reload} mayChange={mayOperate} />}
          </>
        )}
      </Read>
    </>
  );
}

function NoQueue({ queue }: { readonly queue: string }): JSX.Element {
  return (
    <Empty title={`There is no queue ${queue}.`}>
      <span>Its first task makes it.</span>
    </Empty>
  );
}

function Figures(props: { readonly view: QueueView; readonly times: Times | undefined }): JSX.Element {
  const { counts, headAgeMs, load } = props.view;
  const { wait, run, count = 0 } = props.times ?? {};
  const rest = STATES.filter((state) => !['ready', 'active', 'dead'].includes(state) && counts[state] > 0);
  return (
    <div class="grid">
      <Figure
        label="Ready"
        value={countText(counts.ready)}
        note={headAgeMs === null ? 'nothing waits' : `the next waits ${durationText(headAgeMs)}`}
      />
      <Figure
        label="Active"
        value={countText(counts.active)}
        note={load === null ? 'no limit' : `load ${load.toFixed(2)}`}
      />
      <Figure
        label="Dead"
        value={countText(counts.dead)}
        note={rest.map((state) => `${countText(counts[state])} ${state}`).join(', ') || ' '}
      />
      {[['Wait', wait] as const, ['Run', run] as const].map(([label, of]) => (
        <Figure
          key={label}
          label={`${label}, p50`}
          value={of ? durationText(of.p50) : '–'}
          note={
            of ? `p95 ${durationText(of.p95)}, p99 ${durationText(of.p99)}; last ${count}` : 'none seen yet'
          }
        />
      ))}
    </div>
  );
}

function PauseButton(props: { readonly view: QueueView; readonly reload: () => void }): JSX.Element {
  const { name, isPaused } = props.view;
  const [verb, done] = isPaused ? ['resume', 'resumed'] : ['pause', 'paused'];
  const change = async (): Promise<void> => {
    await act(`${name} is ${done}.`, () => call('POST', `${path`queues/${name}`}/${verb}`));
    props.reload();
  };
  return (
    <button type="button" onClick={() => void change()}>
      {isPaused ? 'Resume' : 'Pause'}
    </button>
  );
}
