/**
 * Errors about keys before the execution of a call, which has changed nothing. A NOPERM for a command, perhaps inside the
 * script, has another text, and may contain a user name with the word `keys`.
 */
const REFUSES_KEYS =
  /^(CROSSSLOT |NOPERM (No permissions to access a key|this user has no permissions to access one of the keys))/;

/** Whether a server refused a call because of one of its keys: each user may then have a call of its own. */
export function refusesKeys(error: unknown): error is Error {
  return error instanceof Error && REFUSES_KEYS.test(error.message);
}
