/**
 * One stream of events for the tab. Parts of the page add topics; a change of the topics opens the stream again. It ends while the tab is
 * hidden, and continues after the last event that came.
 */
import { useEffect, useState } from 'preact/hooks';

import { API } from './environment.ts';
import { refusalOf, withQuery } from './http.ts';

/** An event of a topic. `type` says which; its other members are those of the topic. */
export interface LiveEvent {
  readonly topic: string;
  readonly type: string;
  readonly [member: string]: unknown;
}

/** `paused`: the tab is hidden. `cut`: the API does not answer, and is asked again. */
export type LiveState = 'idle' | 'opening' | 'open' | 'paused' | 'cut';

type Listener = (event: LiveEvent) => void;

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 10_000;
/** The most topics that the API takes. */
const MAX_TOPICS = 10;

const listeners = new Map<string, Set<Listener>>();
const watchers = new Set<(state: LiveState) => void>();
let state: LiveState = 'idle';
/** Of the topics of the stream that ran last. */
let lastId: { readonly topics: string; readonly id: string } | undefined;
let running: AbortController | undefined;
let isScheduled = false;

function setState(next: LiveState): void {
  if (next === state) return;
  state = next;
  for (const watcher of watchers) watcher(next);
}

function topicsNow(): string {
  return [...listeners.keys()]
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
  if (topics === '') return setState('idle');
  if (document.hidden) return setState('paused');
  running = new AbortController();
  void keepOpen(topics, running.signal);
}

async function keepOpen(topics: string, signal: AbortSignal): Promise<void> {
  let retryMs = FIRST_RETRY_MS;
  setState('opening');
  while (!signal.aborted) {
    try {
      await readStream(topics, signal, () => {
        retryMs = FIRST_RETRY_MS;
        setState('open');
      });
    } catch {
      // The state says it. A refused token would be refused forever.
      if (retryMs > FIRST_RETRY_MS) lastId = undefined;
    }
    if (signal.aborted) return;
    setState('cut');
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
  for (const listener of listeners.get(event.topic) ?? []) listener(event);
}

document.addEventListener('visibilitychange', restart);

/** Ends the stream, for a session that has ended. */
export function stopLive(): void {
  running?.abort();
  running = undefined;
  lastId = undefined;
  setState('idle');
}

/** Follows a topic while the part of the page is shown. Undefined: none. */
export function useTopic(topic: string | undefined, listener: Listener): void {
  useEffect(() => {
    if (topic === undefined) return undefined;
    const its = listeners.get(topic) ?? new Set<Listener>();
    const isNew = its.size === 0;
    listeners.set(topic, its.add(listener));
    if (isNew) schedule();
    return () => {
      its.delete(listener);
      if (its.size > 0) return;
      listeners.delete(topic);
      schedule();
    };
  }, [topic, listener]);
}

export function useLiveState(): LiveState {
  const [seen, setSeen] = useState(state);
  useEffect(() => {
    watchers.add(setSeen);
    setSeen(state);
    return () => void watchers.delete(setSeen);
  }, []);
  return seen;
}
