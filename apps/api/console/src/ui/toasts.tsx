/** Short messages at the corner: what an action did, or why it could not. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

interface Toast {
  readonly id: number;
  readonly tone: 'good' | 'bad';
  readonly text: string;
}

const SHOWN_MS = 6_000;
let last = 0;
let toasts: readonly Toast[] = [];
const watchers = new Set<(toasts: readonly Toast[]) => void>();

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const watcher of watchers) watcher(toasts);
}

function dismiss(id: number): void {
  change(toasts.filter((each) => each.id !== id));
}

/** Gets what goes wrong instead of the corner. */
let hearer: ((text: string) => void) | undefined;

export function tell(text: string, tone: Toast['tone'] = 'good'): void {
  if (hearer && tone === 'bad') return hearer(text);
  const id = (last += 1);
  change([...toasts, { id, tone, text }]);
  // What went wrong stays until it is read.
  if (tone === 'good') setTimeout(() => dismiss(id), SHOWN_MS);
}

/** Runs an action and tells how it ended. Resolves to whether it succeeded. @param done Undefined: the page shows it. */
export async function act(done: string | undefined, action: () => Promise<unknown>): Promise<boolean> {
  try {
    await action();
    if (done !== undefined) tell(done);
    return true;
  } catch (error) {
    tell(error instanceof TypeError ? 'The API does not answer.' : (error as Error).message, 'bad');
    return false;
  }
}

/** What went wrong meanwhile, for a dialog: the corner is behind it, and can't be reached. Resolves to whether the action succeeded. */
export async function hear(action: () => Promise<boolean>): Promise<{ isDone: boolean; trouble: string }> {
  const heard: string[] = [];
  hearer = (text) => void heard.push(text);
  const isDone = await action().catch(() => false);
  hearer = undefined;
  return { isDone, trouble: heard.join(' ') };
}

export function Toasts(): JSX.Element {
  const [shown, setShown] = useState(toasts);
  useEffect(() => {
    watchers.add(setShown);
    return () => void watchers.delete(setShown);
  }, []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.map(({ id, tone, text }) => (
        <div class="toast" key={id} data-tone={tone}>
          <span>{text}</span>
          <button class="plain" type="button" aria-label="Dismiss" onClick={() => dismiss(id)}>
            ✕
          </button>
        </div>
      ))}
    </div>
  );
}
