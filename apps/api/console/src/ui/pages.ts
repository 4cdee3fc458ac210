/** Lists that the API gives by pages: `nextCursor` leads to the next one. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

import { get, withQuery } from '../http.ts';

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor?: string | null;
  readonly isCapped?: boolean;
}

export interface Pages<Item> {
  readonly items: readonly Item[] | undefined;
  readonly error: Error | undefined;
  /** Whether the API stopped before it had seen all. */
  readonly isCapped: boolean;
  /** Reads the next page. Undefined: there is none. */
  readonly more: (() => void) | undefined;
  /** Reads the first page again, and leaves the others. */
  readonly reload: () => void;
  /** Reads the first page again, unless others are shown by then: the list would lose its place. */
  readonly refresh: () => void;
  /** Shows the first page as the topic of the list gives it. From then on `refresh` changes no items: see useLiveValue. */
  readonly take: (items: readonly Item[]) => void;
  /** Takes no more from the topic, and reads the first page again. */
  readonly leave: () => void;
}

interface State<Item> {
  readonly address: string;
  readonly items?: readonly Item[];
  readonly next?: string | null | undefined;
  readonly isCapped?: boolean | undefined;
  /** How many pages the items are from. */
  readonly pages?: number;
  /** Whether the items are from the topic of the list. */
  readonly isFollowed?: boolean;
  readonly error?: Error;
}

/** The items of all pages that were asked for. A new address begins again; `reload` reads the first page again. */
export function usePages<Item>(address: string | undefined): Pages<Item> {
  const [state, setState] = useState<State<Item>>({ address: '' });
  const [round, setRound] = useState({ isRefresh: true });
  useEffect(() => {
    if (address === undefined) return undefined;
    const ended = new AbortController();
    readFirst<Item>(address, ended.signal)
      .then(({ items, nextCursor, isCapped }) =>
        setState((before) => {
          const isRefresh = round.isRefresh && before.address === address;
          if (isRefresh && (before.pages ?? 1) > 1) return before;
          if (isRefresh && before.isFollowed) return { ...before, next: nextCursor, isCapped };
          return { address, items, next: nextCursor, isCapped, pages: 1 };
        }),
      )
      .catch((error: unknown) => {
        if (ended.signal.aborted) return;
        setState((before) => ({
          ...(before.address === address ? before : { address }),
          error: error as Error,
        }));
      });
    return () => ended.abort();
  }, [address, round]);
  const reload = useCallback(() => setRound({ isRefresh: false }), []);
  const isOf = state.address === address;
  const hasMore = useRef(false);
  hasMore.current = isOf && (state.pages ?? 1) > 1;
  const refresh = useCallback(() => {
    if (!hasMore.current) setRound({ isRefresh: true });
  }, []);
  const take = useCallback(
    (items: readonly Item[]) =>
      setState((before) => {
        if (address === undefined) return before;
        if (before.address !== address) return { address, items, isFollowed: true };
        return (before.pages ?? 1) === 1 ? { ...before, items, isFollowed: true } : before;
      }),
    [address],
  );
  const leave = useCallback(() => {
    setState((before) => ({ ...before, isFollowed: false }));
    refresh();
  }, [refresh]);
  const more = (): void => {
    const { items = [], next, pages = 1 } = state;
    get<Page<Item>>(withCursor(state.address, next!))
      .then((page) =>
        setState((before) =>
          before.next === next
            ? {
                ...before,
                items: [...items, ...page.items],
                next: page.nextCursor,
                isCapped: page.isCapped,
                pages: pages + 1,
              }
            : before,
        ),
      )
      .catch((error: unknown) => setState((before) => ({ ...before, error: error as Error })));
  };
  return {
    items: isOf ? state.items : undefined,
    error: isOf ? state.error : undefined,
    isCapped: isOf && state.isCapped === true,
    more: isOf && state.next ? more : undefined,
    reload,
    refresh,
    take,
    leave,
  };
}

/** A scan that took long ends with an empty page and a cursor. */
const MAX_EMPTY_PAGES = 20;

async function readFirst<Item>(address: string, signal: AbortSignal): Promise<Page<Item>> {
  let page = await get<Page<Item>>(address, signal);
  for (
    let empty = 1;
    empty < MAX_EMPTY_PAGES && page.items.length === 0 && page.nextCursor && !page.isCapped;
    empty += 1
  )
    page = await get<Page<Item>>(withCursor(address, page.nextCursor), signal);
  return page;
}

function withCursor(address: string, cursor: string): string {
  const [path = '', query = ''] = address.split('?');
  return withQuery(path, { ...Object.fromEntries(new URLSearchParams(query)), cursor });
}
