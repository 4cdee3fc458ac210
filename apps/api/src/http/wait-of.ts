/** The longest wait that a request may ask for. */
export const MAX_WAIT_MS = 30_000;

/** How long a request asks to wait, before its body is checked. */
export function waitOf({ body }: { readonly body: unknown }): number {
  const waitMs = (body as { waitMs?: unknown } | null | undefined)?.waitMs;
  // `Number` throws for an object whose toString is no function.
  const wished = typeof waitMs === 'object' ? 0 : Number(waitMs);
  return wished > 0 ? Math.min(wished, MAX_WAIT_MS) : 0;
}

/** As `waitOf`, for a request with `waitMs` in its query. */
export function waitOfQuery({ query }: { readonly query: unknown }): number {
  return waitOf({ body: query });
}

/** A call over many tasks or names has no deadline of its own. */
export function ofMany(): number {
  return MAX_WAIT_MS;
}
