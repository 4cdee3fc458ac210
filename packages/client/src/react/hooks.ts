import {
  createContext,
  createElement,
  useContext,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import type { ReactElement, ReactNode } from 'react';
import type { ClientState, Follower, MortiseClient } from '../client.js';
import { watchTask } from '../task-watch.js';
import type { TaskView } from '../task-watch.js';

const Context = createContext<MortiseClient | undefined>(undefined);

/** Gives its children the client. */
export function MortiseProvider(props: {
  readonly client: MortiseClient;
  readonly children?: ReactNode;
}): ReactElement {
  return createElement(Context.Provider, { value: props.client }, props.children);
}

/** The client of the provider. Throws Error without one. */
export function useMortise(): MortiseClient {
  const client = useContext(Context);
  if (!client) throw new Error('useMortise needs a MortiseProvider above it');
  return client;
}

/** The state of the stream. */
export function useConnection(): ClientState {
  const client = useMortise();
  return useSyncExternalStore(
    (listener) => client.onState(listener),
    () => client.state,
    () => 'idle',
  );
}

/** Follows a topic while the component is mounted; with undefined, no topic. The functions of the last render are called. */
export function useTopic<const Topic extends string>(
  topic: Topic | undefined,
  follower: Follower<Topic>,
): void {
  const client = useMortise();
  const latest = useRef(follower);
  useEffect(() => {
    latest.current = follower;
  });
  useEffect(() => {
    if (topic === undefined) return undefined;
    return client.follow<Topic>(topic, {
      event: (event) => latest.current.event(event),
      gap: (reason) => latest.current.gap?.(reason),
    });
  }, [client, topic]);
}

/** A task of `useTask`. */
export interface WatchedTask {
  /** Undefined until it is read. */
  readonly task: TaskView | undefined;
  /** Whether the task no longer exists. */
  readonly isGone: boolean;
  /** The error of the last read, if that failed. */
  readonly error: unknown;
}

const UNREAD: WatchedTask = { task: undefined, isGone: false, error: undefined };

/** Returns the state, the progress and the result of a task, as they change; with undefined, of no task. */
export function useTask(queue: string, id: string | undefined): WatchedTask {
  const client = useMortise();
  const [watched, setWatched] = useState(UNREAD);
  useEffect(() => {
    setWatched(UNREAD);
    if (id === undefined) return undefined;
    return watchTask(client, queue, id, {
      task: (task) => setWatched({ task, isGone: false, error: undefined }),
      gone: () => setWatched(({ task }) => ({ task, isGone: true, error: undefined })),
      error: (error) => setWatched((before) => ({ ...before, error })),
    });
  }, [client, queue, id]);
  return watched;
}
