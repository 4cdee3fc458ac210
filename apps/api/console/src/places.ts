/** The places that the palette offers: first the names that exist, from the lists of the API, then guesses for a typed name. */
import { useEffect, useState } from 'preact/hooks';

import type { Area } from './areas.ts';
import type { Page } from './ui/pages.ts';
import { get, withQuery } from './http.ts';
import { hrefOf } from './location.ts';

export interface Choice {
  readonly title: string;
  readonly kind: string;
  readonly href: string;
  /** Nobody knows whether it is there. */
  readonly isGuess?: true;
}

interface Kind {
  /** The area that shows it. */
  readonly area: string;
  readonly title: string;
  /** The address that lists the names. */
  readonly list: string;
  /** Without this scope there is no list. */
  readonly scope: string;
  /** A free one is not listed, and has a page nevertheless. */
  readonly isListedWhileHeld?: true;
}

/** Names of one kind; undefined: of this kind nothing is known. */
interface Names {
  readonly names: readonly string[];
  /** Whether there are no others. */
  readonly isWhole: boolean;
}

const QUEUES: Kind = { area: 'queues', title: 'queue', list: 'queues', scope: 'queues:read' };
const KINDS: readonly Kind[] = [
  QUEUES,
  { area: 'locks', title: 'lock', list: 'locks', scope: 'locks:admin', isListedWhileHeld: true },
  {
    area: 'semaphores',
    title: 'semaphore',
    list: 'semaphores',
    scope: 'locks:admin',
    isListedWhileHeld: true,
  },
  { area: 'read-write-locks', title: 'read-write lock', list: 'names/read-write-locks', scope: 'ops:read' },
  { area: 'chats', title: 'chat', list: 'names/chats', scope: 'ops:read' },
  { area: 'members', title: 'member', list: 'names/members', scope: 'ops:read' },
  { area: 'mailboxes', title: 'mailbox', list: 'names/mailboxes', scope: 'ops:read' },
  { area: 'caches', title: 'cache', list: 'names/caches', scope: 'ops:read' },
  { area: 'files', title: 'file channel', list: 'names/file-channels', scope: 'ops:read' },
  { area: 'books', title: 'address book', list: 'names/address-books', scope: 'ops:read' },
];
/** Of each kind; a list of further ones is no whole one. */
const MAX_NAMES = 100;
/** A page of names may be empty before the last one. */
const MAX_PAGES = 10;
const MAX_CHOICES = 12;

/** The choices for a text. The lists are read once. */
export function useChoices(text: string, areas: readonly Area[], scopes: readonly string[]): Choice[] {
  const [known, setKnown] = useState<ReadonlyMap<Kind, Names>>(new Map());
  const shown = KINDS.filter(({ area }) => areas.some(({ id }) => id === area));
  useEffect(() => {
    const ended = new AbortController();
    for (const kind of shown.filter(({ scope }) => scopes.includes(scope)))
      namesOf(kind, ended.signal).then(
        (names) => setKnown((before) => new Map(before).set(kind, names)),
        // Without its names a kind has guesses.
        () => undefined,
      );
    return () => ended.abort();
  }, []);
  return choicesOf(text.trim(), areas, shown, known);
}

async function namesOf({ list }: Kind, signal: AbortSignal): Promise<Names> {
  const names: string[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES && names.length < MAX_NAMES; pages += 1) {
    const address = withQuery(list, { limit: MAX_NAMES, cursor });
    const { items, nextCursor } = await get<Page<{ readonly name: string }>>(address, signal);
    names.push(...items.map(({ name }) => name));
    if (!nextCursor) return { names, isWhole: true };
    cursor = nextCursor;
  }
  return { names, isWhole: false };
}

function choicesOf(
  wanted: string,
  areas: readonly Area[],
  kinds: readonly Kind[],
  known: ReadonlyMap<Kind, Names>,
): Choice[] {
  const has = (name: string): boolean => name.toLowerCase().includes(wanted.toLowerCase());
  /** A title that begins with the text is meant more often than one that has it somewhere. */
  const rank = ({ title }: Choice): number =>
    title === wanted ? 0 : title.toLowerCase().startsWith(wanted.toLowerCase()) ? 1 : 2;
  const named = kinds.flatMap((kind) =>
    (known.get(kind)?.names ?? [])
      .filter((name) => has(name) && (wanted !== '' || kind === QUEUES))
      .map((name) => ({ title: name, kind: kind.title, href: hrefOf([kind.area, name]) })),
  );
  const found: Choice[] = [
    ...areas
      .filter(({ title }) => has(title))
      .map(({ id, title }) => ({ title, kind: 'area', href: hrefOf([id]) })),
    ...named,
  ].toSorted((a, b) => rank(a) - rank(b));
  const guesses = wanted === '' ? [] : guessesOf(wanted, kinds, known);
  // Existing names leave room for the guesses, and have at least half of the list.
  const most = Math.max(MAX_CHOICES - guesses.length, MAX_CHOICES / 2);
  return [...found.slice(0, most), ...guesses].slice(0, MAX_CHOICES);
}

/** A kind whose names are all known has none. */
function guessesOf(wanted: string, kinds: readonly Kind[], known: ReadonlyMap<Kind, Names>): Choice[] {
  const named = kinds
    .filter((kind) => {
      const { names, isWhole } = known.get(kind) ?? { names: [], isWhole: false };
      return !names.includes(wanted) && (!isWhole || kind.isListedWhileHeld);
    })
    .map(({ area, title }) => ({
      title: wanted,
      kind: title,
      href: hrefOf([area, wanted]),
      isGuess: true as const,
    }));
  const tasks = (known.get(QUEUES)?.names ?? []).map((queue) => ({
    title: wanted,
    kind: `task of ${queue}`,
    href: hrefOf(['queues', queue, 'tasks', wanted]),
    isGuess: true as const,
  }));
  // An id of a task has digits.
  return /\d/.test(wanted) ? [...tasks, ...named] : [...named, ...tasks];
}
