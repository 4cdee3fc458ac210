/**
 * Turns a task's id into a name that is safe in a Message-ID and as a file. Ids come from callers and may contain anything,
 * so every character but letters, digits, `-` and `_` becomes `%XX` or `%uXXXX` (per UTF-16 unit, so lone surrogates
 * survive too). Distinct ids have distinct names: a long id becomes `sha256=` and its hash, and `=` stands in no other
 * name.
 */
import { createHash } from 'node:crypto';

/** Leaves room for a domain in a header line of 998 bytes, and for an extension in a file name of 255. */
const MAX_NAME_BYTES = 200;

/** The name of a task's mail: dot-atom text of at most 200 bytes. The same id always has the same name. O(length). */
export function taskName(taskId: string): string {
  const name = taskId.replace(/[^A-Za-z0-9_-]/g, (character) => {
    const code = character.charCodeAt(0).toString(16).toUpperCase();
    return code.length > 2 ? `%u${code.padStart(4, '0')}` : `%${code.padStart(2, '0')}`;
  });
  if (name.length <= MAX_NAME_BYTES) return name;
  return `sha256=${createHash('sha256').update(name).digest('hex')}`;
}
