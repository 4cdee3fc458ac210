/**
 * Whom a member of a guild means: their recent contacts first, then the names of its book, each person once. It is the recipe
 * docs/recipes/mentions.md for one book. Requests have a deadline already, so there is none here.
 */
import type { AddressBook, RecentContacts, TextRange } from '@mortise/autocomplete';
import { prefixMatchOf } from '@mortise/autocomplete';

import { MAX_CONTACTS } from './contact-schemas.js';
import { displayOf, keyOf } from './contact.js';

export interface Mention {
  readonly key: string;
  readonly display: string;
  readonly isRecent: boolean;
  /** Undefined for a contact that the book has not found. */
  readonly score?: number;
  readonly payload?: unknown;
  readonly matches: readonly TextRange[];
}

/**
 * One round trip: the contacts and the book are read at the same time. If one of them fails, `isComplete` is false; if both fail,
 * rejects.
 */
export async function completeMentions(
  recent: RecentContacts,
  book: AddressBook,
  user: string,
  text: string,
  options: { readonly limit: number; readonly fuzzy: boolean },
): Promise<{ readonly mentions: readonly Mention[]; readonly isComplete: boolean }> {
  // Several contacts may be one person, so all that match are read.
  const [contacts, names] = await Promise.allSettled([
    recent.complete(user, text, { limit: MAX_CONTACTS }),
    book.complete(text, options),
  ]);
  if (contacts.status === 'rejected' && names.status === 'rejected') throw contacts.reason;

  const mentions = new Map<string, Mention>();
  for (const contact of contacts.status === 'fulfilled' ? contacts.value : []) {
    const [key, display] = [keyOf(contact), displayOf(contact)];
    if (mentions.has(key)) continue;
    mentions.set(key, { key, display, isRecent: true, matches: prefixMatchOf(display, text) });
  }
  for (const { key, display, score, payload, matches } of names.status === 'fulfilled' ? names.value : []) {
    mentions.set(key, { key, display, isRecent: mentions.has(key), score, payload, matches });
  }
  const isComplete = contacts.status === 'fulfilled' && names.status === 'fulfilled';
  return { mentions: [...mentions.values()].slice(0, options.limit), isComplete };
}
