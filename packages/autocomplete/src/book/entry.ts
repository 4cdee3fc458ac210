/**
 * How an entry is stored: one member for each form, and a card for what its members don't say.
 *
 * A member is `<form>` \1 `<encoded key>`, or the form alone where it says everything: the key is its own only form, is shown as
 * it is, and has nothing with it. That is a handle, the common case, and takes half the memory.
 */
import { decodeName, encodeName } from '@mortise/redis';
import { EntryTooLargeError, NoWordsError } from '../errors.js';
import { formsOf } from './forms.js';

const SEPARATOR = '\u0001';
const END_OF_FORMS = '\0';
/** Forms of an entry, each of which costs Redis about 0.1 ms to write. */
const MAX_FORMS = 128;
/** Of what is kept beside the name: it is read with each answer that has the entry. */
const MAX_CARD_BYTES = 8_192;

/** What a book keeps of a name beside its score. */
export interface BookEntry<Payload = unknown> {
  readonly key: string;
  readonly display: string;
  readonly aliases: readonly string[];
  readonly payload: Payload | undefined;
}

/** As the scripts take it. */
export interface StoredEntry {
  readonly id: string;
  readonly members: readonly string[];
  /** Empty where none is needed. */
  readonly card: string;
}

type Card = [display: string | 0, payload: unknown, aliases: readonly string[]];

/** As the scripts know a key. */
export function idOf(key: string): string {
  return encodeName(key);
}

/** The members that follow from a key alone. */
export function membersOf(key: string): string[] {
  const forms = formsOf(key);
  if (forms.length === 1 && forms[0] === key) return [key];
  const id = encodeName(key);
  return forms.map((form) => form + SEPARATOR + id);
}

/** Throws NoWordsError and EntryTooLargeError; nothing was sent then. */
export function storeEntry({ key, display, aliases, payload }: BookEntry): StoredEntry {
  const id = encodeName(key);
  const isPlain = display === key && aliases.length === 0 && payload === undefined;
  const forms = [...new Set([display, ...aliases].flatMap(formsOf))];
  if (forms.length === 0) throw new NoWordsError(key);
  if (isPlain) return { id, members: membersOf(key), card: '' };
  const kept: Card = [display === key ? 0 : display, payload ?? null, aliases];
  const json = JSON.stringify(kept);
  const bytes = Buffer.byteLength(json);
  if (forms.length > MAX_FORMS || bytes > MAX_CARD_BYTES) {
    throw new EntryTooLargeError(key, forms.length, MAX_FORMS, bytes, MAX_CARD_BYTES);
  }
  const card = forms.join(SEPARATOR) + END_OF_FORMS + json;
  return { id, members: forms.map((form) => form + SEPARATOR + id), card };
}

/** The entry of a member, with its card if it has one. */
export function readEntry(member: string, card: string): BookEntry {
  const separator = member.indexOf(SEPARATOR);
  const key = separator < 0 ? member : decodeName(member.slice(separator + 1));
  if (card === '') return { key, display: key, aliases: [], payload: undefined };
  const [display, payload, aliases] = JSON.parse(card.slice(card.indexOf(END_OF_FORMS) + 1)) as Card;
  return { key, display: display === 0 ? key : display, aliases, payload: payload ?? undefined };
}
