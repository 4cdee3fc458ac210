import type { Problem } from '../problems/problem.js';

/** The header `WWW-Authenticate` of an answer (RFC 6750); undefined for other problems. */
export function challengeOf({ slug, fields }: Problem): string | undefined {
  if (slug === 'unauthenticated') return 'Bearer';
  if (slug === 'scope-missing')
    return `Bearer error="insufficient_scope", scope="${String(fields['scope'])}"`;
  return undefined;
}
