const TRACEPARENT = /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-[\da-f]{2}(?:-|$)/;

/** The id of the trace that a header `traceparent` names, of a request or of a task; undefined without one. */
export function traceIdOf({ traceparent }: Readonly<Record<string, unknown>>): string | undefined {
  const [, traceId] = typeof traceparent === 'string' ? (TRACEPARENT.exec(traceparent) ?? []) : [];
  return traceId;
}
