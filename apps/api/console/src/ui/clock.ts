/** The time, drawn anew every second for all that shows how long ago something was. */
import { useEffect, useState } from 'preact/hooks';

const TICK_MS = 1_000;
const watchers = new Set<(now: number) => void>();
let timer: ReturnType<typeof setInterval> | undefined;

export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    watchers.add(setNow);
    timer ??= setInterval(() => {
      if (!document.hidden) for (const watcher of watchers) watcher(Date.now());
    }, TICK_MS);
    return () => {
      watchers.delete(setNow);
      if (watchers.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, []);
  return now;
}
