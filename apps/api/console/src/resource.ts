/** Values that a component reads from the API. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

import { get, isRefusal } from './http.ts';
import { useLive } from './live.ts';

export interface Resource<Value> {
  /** The last value that was read; it stays while it is read again. */
  readonly value: Value | undefined;
  readonly error: Error | undefined;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/** Reads an address, and again after `reload` or when it changes. Undefined: nothing is read. */
export function useResource<Value>(address: string | undefined): Resource<Value> {
  const [state, setState] = useState<{ address?: string; value?: Value; error?: Error }>({});
  const [round, setRound] = useState(0);
  const [isLoading, setIsLoading] = useState(address !== undefined);
  useEffect(() => {
    if (address === undefined) return undefined;
    const ended = new AbortController();
    setIsLoading(true);
    get<Value>(address, ended.signal)
      .then((value) => setState({ address, value }))
      .catch((error: unknown) => {
        if (!ended.signal.aborted)
          setState((before) => ({
            ...(before.address === address && before),
            address,
            error: error as Error,
          }));
      })
      .finally(() => {
        if (!ended.signal.aborted) setIsLoading(false);
      });
    return () => ended.abort();
  }, [address, round]);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  // A read may have failed with the API. The stream tells when it is back: no event may come after that.
  const isLive = useLive().state === 'open';
  useEffect(() => {
    if (isLive && state.error && !isRefusal(state.error)) reload();
  }, [isLive]);
  const isOf = state.address === address;
  return {
    value: isOf ? state.value : undefined,
    error: isOf ? state.error : undefined,
    isLoading,
    reload,
  };
}

const RELOAD_MS = 250;

/** Calls `reload` soon after the first of many calls, once for all of them. */
export function useThrottled(reload: () => void, ms: number = RELOAD_MS): () => void {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return useCallback(() => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      reload();
    }, ms);
  }, [reload, ms]);
}
