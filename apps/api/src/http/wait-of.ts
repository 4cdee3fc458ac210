/** The longest that a request may ask to wait. */
export const MAX_WAIT_MS = 30_000;

/** How long a request asks to wait, before its body is checked. */
export function waitOf({ body }: { readonly body: unknown }): number {
  const wished = Number((body as { waitMs?: unknown } | null | undefined)?.waitMs);
  return wished > 0 ? Math.min(wished, MAX_WAIT_MS) : 0;
}

/** The same of a request that says so in its query. */
export function waitOfQuery({ query }: { readonly query: unknown }): number {
  return waitOf({ body: query });
}
