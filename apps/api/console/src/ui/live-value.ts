/** A value that the API gives, and its topic sends anew with each change. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

import { useTopic } from '../live.ts';
import type { LiveEvent } from '../live.ts';
import { useResource } from '../resource.ts';
import type { Resource } from '../resource.ts';

export interface LiveValue<Value> extends Resource<Value> {
  /** When the value came, by the clock of the page: what was left then is counted from here. */
  readonly at: number;
}

/** @param onChange Gets each value of the topic. */
export function useLiveValue<Value>(
  address: string,
  topic: string,
  onChange?: (value: Value) => void,
): LiveValue<Value> {
  const read = useResource<Value>(address);
  const [shown, setShown] = useState<{ value: Value | undefined; at: number }>({ value: undefined, at: 0 });
  const isFollowed = useRef(false);
  useEffect(() => {
    // A read that meets a short change would show it for good: the topic tells only what its own reads find.
    if (read.value !== undefined && !isFollowed.current) setShown({ value: read.value, at: Date.now() });
  }, [read.value]);
  useTopic(
    topic,
    useCallback(
      (event: LiveEvent) => {
        if (event.type !== topic.split(':')[0]) return;
        const value = event as unknown as Value;
        isFollowed.current = true;
        setShown({ value, at: Date.now() });
        onChange?.(value);
      },
      [topic, onChange],
    ),
    read.reload,
  );
  return { ...read, ...shown };
}
