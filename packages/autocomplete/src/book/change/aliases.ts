/**
 * Further names by which an entry is found: its own aliases, and names that `keysOf` derives from its display form, such as
 * pinyin. They are made when an entry is added, so completion costs nothing more and needs no dictionary.
 */
import { ArgumentRangeError, requireArray, requireText } from '@mortise/redis';
import type { AddEntry, AddressBookOptions } from '../../options.js';

/** Maximum of further names of an entry. Each costs a member for each of its words. */
export const MAX_ALIASES = 16;

/**
 * The aliases of an entry, its own first, then those of `keysOf`; each once, without the display form itself.
 *
 * Throws TypeError unless `aliases` and the result of `keysOf` are arrays of well-formed texts. Throws RangeError for a
 * text without 1 to 1,024 bytes, and for more than 16. Errors of `keysOf` pass through.
 */
export function aliasesOf(
  entry: Pick<AddEntry<unknown>, 'key' | 'display' | 'aliases'>,
  { keysOf }: Pick<AddressBookOptions, 'keysOf'>,
): string[] {
  const { key, display = key, aliases = [] } = entry;
  const names = new Set(requireNames('aliases', aliases));
  if (keysOf) for (const name of requireNames('keysOf', keysOf(display))) names.add(name);
  names.delete(display);
  if (names.size > MAX_ALIASES) {
    throw new ArgumentRangeError(`an entry has at most ${MAX_ALIASES} aliases, got ${names.size}`);
  }
  return [...names];
}

function requireNames(option: string, names: readonly string[]): readonly string[] {
  for (const name of requireArray(option, names)) requireText(option, name);
  return names;
}
