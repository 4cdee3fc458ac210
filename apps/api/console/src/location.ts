/** The address is the state of the page: its parts say what is shown, its query how. */
import type { AnchorHTMLAttributes, JSX, TargetedMouseEvent } from 'preact';
import { h } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import { BASE } from './environment.ts';

export interface Place {
  /** The parts of the address below the page, decoded. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

const listeners = new Set<() => void>();
let current = read();

function read(): Place {
  const below = location.pathname.startsWith(BASE) ? location.pathname.slice(BASE.length) : '';
  const parts = below.split('/').filter((part) => part !== '');
  return { parts: parts.map(decoded), query: new URLSearchParams(location.search) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function changed(): void {
  current = read();
  for (const listener of listeners) listener();
}

globalThis.addEventListener('popstate', changed);

/** The address of parts of the page. */
export function hrefOf(
  parts: readonly string[],
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(given as [string, string][]).toString();
  return BASE + parts.map((part) => encodeURIComponent(part)).join('/') + (text && `?${text}`);
}

export function go(href: string, how: 'push' | 'replace' = 'push'): void {
  if (how === 'push') history.pushState(null, '', href);
  else history.replaceState(null, '', href);
  changed();
  if (how === 'push') scrollTo(0, 0);
}

/** Sets members of the query, and leaves the others. Undefined and '' remove one. */
export function setQuery(
  changes: Readonly<Record<string, string | undefined>>,
  how: 'push' | 'replace' = 'replace',
): void {
  const query = { ...Object.fromEntries(current.query), ...changes };
  go(hrefOf(current.parts, query), how);
}

export function usePlace(): Place {
  const [place, setPlace] = useState(current);
  useEffect(() => {
    const listener = (): void => setPlace(current);
    listeners.add(listener);
    // It may have changed between the drawing and this effect.
    listener();
    return () => void listeners.delete(listener);
  }, []);
  return place;
}

type LinkProps = AnchorHTMLAttributes & { href: string; class?: string };

/** A link inside the page. Modified clicks are the browser's. */
export function Link({ onClick, ...props }: LinkProps): JSX.Element {
  return h('a', {
    ...props,
    onClick: (event: TargetedMouseEvent<HTMLAnchorElement>) => {
      onClick?.call(event.currentTarget as never, event);
      if (event.defaultPrevented || event.button !== 0) return;
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      go(props.href);
    },
  });
}
