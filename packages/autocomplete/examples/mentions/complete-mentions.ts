import type { AddressBook, RecentContacts, TextRange } from '@mortise/autocomplete';
import { prefixMatchOf } from '@mortise/autocomplete';
import { TIMED_OUT, waitFor } from '@mortise/redis';

export interface MentionSources {
  readonly recent: Pick<RecentContacts, 'complete' | 'displayOf'>;
  /** In the order in which their names come. */
  readonly books: readonly Pick<AddressBook, 'complete'>[];
  /** The key of a contact in the books: `4711` of `4711|Jack`. */
  readonly keyOf: (contact: string) => string;
}

export interface Mention {
  readonly key: string;
  readonly display: string;
  /** The recent contacts, or the index of the book. */
  readonly source: 'recent' | number;
  /** Undefined for a contact that no book has found. */
  readonly score?: number;
  readonly payload?: unknown;
  readonly matches: readonly TextRange[];
}

/** The most contacts that a user keeps. Several of them may be one person, so all that match are read. */
const CAPACITY = 100;

/**
 * The recent contacts first, then the names of book after book, each person once. All sources are read at the same time: one round
 * trip. A source that fails, or gives no answer in time, is among `failures` and hides no other. Rejects if all fail.
 */
export async function completeMentions(
  { recent, books, keyOf }: MentionSources,
  user: string,
  text: string,
  { limit = 10, fuzzy = false, waitMs = 1_000 } = {},
): Promise<{ mentions: Mention[]; failures: unknown[] }> {
  const inTime = async <Found>(read: Promise<Found>): Promise<Found> => {
    const found = await waitFor(read, { waitMs });
    if (found === TIMED_OUT) throw new Error(`no answer within ${waitMs} ms`);
    return found;
  };
  const [[contacts], answers] = await Promise.all([
    Promise.allSettled([inTime(recent.complete(user, text, { limit: CAPACITY }))]),
    Promise.allSettled(books.map((book) => inTime(book.complete(text, { limit, fuzzy })))),
  ]);
  const failures = [contacts, ...answers].flatMap((answer): unknown[] =>
    answer.status === 'rejected' ? [answer.reason] : [],
  );
  if (failures.length === 1 + answers.length) throw failures[0];

  const mentions = new Map<string, Mention>();
  for (const contact of contacts.status === 'fulfilled' ? contacts.value : []) {
    const [key, display] = [keyOf(contact), recent.displayOf(contact)];
    if (mentions.has(key)) continue;
    mentions.set(key, { key, display, source: 'recent', matches: prefixMatchOf(display, text) });
  }
  const names = answers.flatMap((answer, source) =>
    answer.status === 'fulfilled' ? answer.value.map((name) => ({ ...name, source })) : [],
  );
  // Names that match only after an edit come last, whatever their book.
  names.sort((one, other) => Number(one.isFuzzy) - Number(other.isFuzzy));
  for (const { key, display, score, payload, matches, source } of names) {
    const known = mentions.get(key);
    // A contact keeps its place, and gets display form, score and payload of the first book that knows it.
    if (known && (known.source !== 'recent' || known.score !== undefined)) continue;
    mentions.set(key, { key, display, score, payload, matches, source: known?.source ?? source });
  }
  return { mentions: [...mentions.values()].slice(0, limit), failures };
}
