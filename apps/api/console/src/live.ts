/**
 * One stream of events for the tab. Parts of the page add topics; a change of the topics opens the stream again. It ends while the tab is
 * hidden, and continues after the last event that came. Where it cannot continue, the parts of the page read anew what they show.
 */
import { useEffect, useState } from 'preact/hooks';

import { API } from './environment.ts';
import { ApiProblem, isRefusal, refusalOf, withQuery } from './http.ts';

/** An event of a topic. `type` says which; its other members are those of the topic. */
export interface LiveEvent {
  readonly topic: string;
  readonly type: string;
  readonly [member: string]: unknown;
}

/** `paused`: the tab is hidden. `cut`: the API does not answer, `refused`: it answers with a refusal. It is asked again after both. */
type LiveState = 'idle' | 'opening' | 'open' | 'paused' | 'cut' | 'refused';

export interface Live {
  readonly state: LiveState;
  /** How many topics are too many: they are not followed. */
  readonly surplus: number;
}

type Listener = (event: LiveEvent) => void;

interface Follower {
  readonly listener: Listener;
  readonly readAgain: (() => void) | undefined;
}

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 10_000;
/** The most topics that the API takes. The page tells of further ones. */
const MAX_TOPICS = 10;

/** After them, or in their place, events are missing. */
const LOSSES: ReadonlySet<string> = new Set(['gap', 'reset']);

const followers = new Map<string, Set<Follower>>();
const watchers = new Set<(live: Live) => void>();
let live: Live = { state: 'idle', surplus: 0 };
/** Of the topics of the stream that ran last. */
let lastId: { readonly topics: string; readonly id: string } | undefined;
let running: AbortController | undefined;
let isScheduled = false;

function set(state: LiveState, surplus = live.surplus): void {
  if (state === live.state && surplus === live.surplus) return;
  live = { state, surplus };
  for (const watcher of watchers) watcher(live);
}

function topicsNow(): string {
  return [...followers.keys()]
    .toSorted((a, b) => (a < b ? -1 : 1))
    .slice(0, MAX_TOPICS)
    .join(',');
}

/** Several parts of the page come and go in one drawing: the stream is opened once. */
function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  setTimeout(() => {
    isScheduled = false;
    restart();
  }, 0);
}

function restart(): void {
  running?.abort();
  running = undefined;
  const topics = topicsNow();
  const surplus = Math.max(0, followers.size - MAX_TOPICS);
  if (topics === '') return set('idle', surplus);
  if (document.hidden) return set('paused', surplus);
  set('opening', surplus);
  running = new AbortController();
  void keepOpen(topics, running.signal);
}

async function keepOpen(topics: string, signal: AbortSignal): Promise<void> {
  let retryMs = FIRST_RETRY_MS;
  while (!signal.aborted) {
    let end: LiveState = 'cut';
    try {
      await readStream(topics, signal, () => {
        retryMs = FIRST_RETRY_MS;
        set('open');
      });
    } catch (error) {
      // The state says it. A refused token would be refused forever; without an answer it is still good.
      if (error instanceof ApiProblem && error.slug === 'invalid-token') lastId = undefined;
      if (isRefusal(error)) end = 'refused';
    }
    if (signal.aborted) return;
    set(end);
    await new Promise((resolve) => setTimeout(resolve, retryMs));
    retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
  }
}

/** Reads until the stream ends. Not EventSource: that hides why the API refuses, and wants the name of each event. */
async function readStream(topics: string, signal: AbortSignal, opened: () => void): Promise<void> {
  const after = lastId?.topics === topics ? lastId.id : undefined;
  const response = await fetch(API + withQuery('events', { topics, after }), {
    credentials: 'same-origin',
    headers: { accept: 'text/event-stream' },
    signal,
  });
  if (!response.ok || !response.body) throw await refusalOf(response);
  opened();
  // Values that were read before may be older than the stream.
  if (after === undefined) for (const topic of topics.split(',')) readAgain(topic);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split('\n\n');
    rest = blocks.pop()!;
    for (const block of blocks) deliver(topics, block);
  }
}

function deliver(topics: string, block: string): void {
  const lines = block.split('\n');
  const fieldOf = (name: string): string =>
    lines.flatMap((line) => (line.startsWith(name) ? [line.slice(name.length).trimStart()] : [])).join('\n');
  const [id, data] = [fieldOf('id:'), fieldOf('data:')];
  if (id !== '') lastId = { topics, id };
  if (data === '') return;
  const event = JSON.parse(data) as LiveEvent;
  for (const { listener } of followers.get(event.topic) ?? []) listener(event);
  if (LOSSES.has(event.type)) readAgain(event.topic);
}

function readAgain(topic: string): void {
  for (const follower of followers.get(topic) ?? []) follower.readAgain?.();
}

document.addEventListener('visibilitychange', restart);

/** Ends the stream, for a session that has ended. */
export function stopLive(): void {
  running?.abort();
  running = undefined;
  lastId = undefined;
  set('idle');
}

/**
 * Follows a topic while the part of the page is shown. Undefined: none.
 *
 * @param again Called when events may be missing: the stream begins, or goes on after a loss.
 */
export function useTopic(topic: string | undefined, listener: Listener, again?: () => void): void {
  useEffect(() => {
    if (topic === undefined) return undefined;
    const follower = { listener, readAgain: again };
    const its = followers.get(topic) ?? new Set<Follower>();
    const isNew = its.size === 0;
    followers.set(topic, its.add(follower));
    if (isNew) schedule();
    return () => {
      its.delete(follower);
      if (its.size > 0) return;
      followers.delete(topic);
      schedule();
    };
  }, [topic, listener, again]);
}

export function useLive(): Live {
  const [seen, setSeen] = useState(live);
  useEffect(() => {
    watchers.add(setSeen);
    setSeen(live);
    return () => void watchers.delete(setSeen);
  }, []);
  return seen;
}
