/** Streams and waits outlive the check at their beginning, so their credentials are checked again. */
import type { Principal } from './principal.js';
import type { Access } from './route-scopes.js';
import { isScope } from './scopes.js';

/** A stream or a wait ends within 5 s after its credential; a process keeps a key for half a second. */
export const RECHECK_MS = 2_000;

/** Whether the credential is still valid and has the rights. A process reads each API key once, whatever the number of calls. */
export async function isStillAllowed(principal: Principal, rights: readonly Access[]): Promise<boolean> {
  const now = await principal.recheck().catch(
    // Without Redis nobody knows.
    () => principal,
  );
  return now !== undefined && rights.every((right) => !isScope(right) || now.scopes.has(right));
}
