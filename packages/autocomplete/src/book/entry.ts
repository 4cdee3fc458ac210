/**
 * The stored form of an entry: one member for each form, and a card with all other data.
 *
 * A member is `<form>` \1 `<encoded key>`. A handle has only the form: its key is its only form and its display form, and
 * it has no payload. Handles are the common case, and take half the memory.
 */
import { ArgumentTypeError, decodeName, encodeName, shownValue, wholeJson } from '@mortise/redis';
import { InvalidEntryError } from '../errors.js';
import { formsOf } from '../text/forms.js';

const SEPARATOR = '\u0001';
const END_OF_FORMS = '\0';
/** Maximum of forms of an entry. Redis takes about 0.1 ms to write one. */
const MAX_FORMS = 128;
/** Maximum size of a card, which every answer with the entry reads. */
const MAX_CARD_BYTES = 8_192;

/** An entry without its score. */
export interface BookEntry<Payload = unknown> {
  readonly key: string;
  readonly display: string;
  readonly aliases: readonly string[];
  readonly payload: Payload | undefined;
}

/** An entry in the format of the scripts. */
export interface StoredEntry {
  readonly id: string;
  readonly members: readonly string[];
  /** Empty for an entry that is only a key. */
  readonly card: string;
}

type Card = [display: string | 0, payload: unknown, aliases: readonly string[]];

/** A key in the format of the scripts. */
export function idOf(key: string): string {
  return encodeName(key);
}

/** The members that a key alone determines. */
export function membersOf(key: string): string[] {
  const forms = formsOf(key);
  if (forms.length === 1 && forms[0] === key) return [key];
  const id = encodeName(key);
  return forms.map((form) => form + SEPARATOR + id);
}

/** Throws InvalidEntryError. */
export function storeEntry({ key, display, aliases, payload }: BookEntry): StoredEntry {
  const id = encodeName(key);
  const isPlain = display === key && aliases.length === 0 && payload === undefined;
  const forms = [...new Set([display, ...aliases].flatMap(formsOf))];
  if (forms.length === 0) throw InvalidEntryError.noWords(key);
  if (isPlain) return { id, members: membersOf(key), card: '' };
  const kept: Card = [display === key ? 0 : display, payload ?? null, aliases];
  const json = wholeJson(
    kept,
    Infinity,
    ({ text }) => new ArgumentTypeError(`payload of ${shownValue(key)} ${text}`),
  );
  const bytes = Buffer.byteLength(json);
  if (forms.length > MAX_FORMS || bytes > MAX_CARD_BYTES) {
    const sizes = { forms: forms.length, maxForms: MAX_FORMS, bytes, maxBytes: MAX_CARD_BYTES };
    throw InvalidEntryError.tooLarge(key, sizes);
  }
  const card = forms.join(SEPARATOR) + END_OF_FORMS + json;
  return { id, members: forms.map((form) => form + SEPARATOR + id), card };
}

/** The entry of a member and its card, which may be empty. */
export function readEntry(member: string, card: string): BookEntry {
  const separator = member.indexOf(SEPARATOR);
  const key = separator < 0 ? member : decodeName(member.slice(separator + 1));
  if (card === '') return { key, display: key, aliases: [], payload: undefined };
  const [display, payload, aliases] = JSON.parse(card.slice(card.indexOf(END_OF_FORMS) + 1)) as Card;
  return { key, display: display === 0 ? key : display, aliases, payload: payload ?? undefined };
}
