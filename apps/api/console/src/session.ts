/** The session of the browser, and its rights. */
import { useEffect, useState } from 'preact/hooks';

import { ApiProblem, call, watchRefusals } from './http.ts';
import { stopLive } from './live.ts';

export interface Session {
  readonly keyId: string | null;
  readonly tenant: string;
  readonly subject: string | null;
  readonly scopes: readonly string[];
  readonly console?: 'on' | 'read-only' | 'off';
  /** False where the page is a part of another server, which has the sessions. */
  readonly canSignOut?: boolean;
}

/** `unknown`: it is being asked for. `insecure`: over this address the API takes no session of a browser. */
export type SessionState = Session | 'unknown' | 'none' | 'away' | 'insecure';

const KEY_IN_ADDRESS = /^#key=(.+)$/;
const UNAUTHENTICATED = 401;

let current: SessionState = 'unknown';
const watchers = new Set<(state: SessionState) => void>();

function set(next: SessionState): void {
  current = next;
  for (const watcher of watchers) watcher(next);
}

export function useSession(): SessionState {
  const [seen, setSeen] = useState(current);
  useEffect(() => {
    watchers.add(setSeen);
    setSeen(current);
    return () => void watchers.delete(setSeen);
  }, []);
  return seen;
}

/** Opens a session for the key of a sign-in link, or finds the one that the browser has. */
export async function findSession(): Promise<void> {
  const [, key] = KEY_IN_ADDRESS.exec(location.hash) ?? [];
  // The key stays in no history and in no bookmark.
  if (key !== undefined) history.replaceState(null, '', location.pathname + location.search);
  try {
    // A key is sent over no plain connection. An API without authentication needs none.
    if (key !== undefined && isSecureContext) await signIn(decodeURIComponent(key));
    else set(await call<Session>('GET', 'session'));
  } catch (error) {
    set(error instanceof ApiProblem ? withoutSession() : 'away');
  }
}

/** Browsers store no cookie of a session over plain HTTP, and don't tell there which page sends a request. */
function withoutSession(): SessionState {
  return isSecureContext ? 'none' : 'insecure';
}

/** Rejects with ApiProblem for a key that is not valid. */
export async function signIn(key: string): Promise<void> {
  set(await call<Session>('POST', 'session', { headers: { authorization: `Bearer ${key.trim()}` } }));
}

export async function signOut(): Promise<void> {
  stopLive();
  await call('DELETE', 'session').catch(() => undefined);
  set(withoutSession());
}

/** A session that ends while the page is open leads to the sign-in. */
watchRefusals(({ status }) => {
  if (status !== UNAUTHENTICATED || typeof current === 'string') return;
  stopLive();
  set(withoutSession());
});

export function mayDo(session: Session, scope: string): boolean {
  return session.scopes.includes(scope);
}

/** Whether the page may change something that needs the scope. */
export function mayChange(session: Session, scope: string): boolean {
  return session.console !== 'read-only' && mayDo(session, scope);
}
