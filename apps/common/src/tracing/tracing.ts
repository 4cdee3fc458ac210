import type { IncomingHttpHeaders } from 'node:http';

import type { Telemetry } from '@mortise/redis';

/** A recorder of traces. The packages make the spans of tasks by `telemetry`; the API makes those of requests. */
export interface Tracing {
  readonly telemetry: Required<Pick<Telemetry, 'span' | 'firstAttempt'>>;
  /** Begins the span of a request, or of a frame of a WebSocket, in the trace of the header `traceparent` of the request, if it has one. */
  request(start: RequestStart): RequestSpan;
  /** Sends the spans that are left. Never rejects. */
  stop(): Promise<void>;
}

export interface RequestStart {
  readonly method: string;
  /** A pattern, such as `/v1/queues/:queue`; undefined for an unknown address. */
  readonly route: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** The verb of a frame, such as `post`. */
  readonly frame?: string;
}

export interface RequestSpan {
  readonly traceId: string;
  /** Calls `act` with the span active, also in all that it starts. */
  run<Result>(act: () => Result): Result;
  /** Called once. */
  end(status: number): void;
}
