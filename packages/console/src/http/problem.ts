/**
 * Refusals, as RFC 9457 documents them. Types and titles are those of the HTTP service, and the page knows both. The comments are the
 * remedies in docs/console/reference/problems.md.
 */
const BASE = 'https://mortise.dev/problems/';

const PROBLEMS = {
  /** Encode the parts of the address as UTF-8. */
  'malformed-url': [400, 'The address of the request cannot be decoded'],
  /** The body must be JSON in UTF-8. */
  'malformed-json': [400, 'The body is not JSON'],
  /** The client went away, or its body is not what its headers say. */
  'malformed-request': [400, 'The request is not HTTP that the server understands'],
  /** A member is missing, unknown or out of range, or a whole number is beyond 2^53. The detail names it. */
  'invalid-body': [400, 'The body is not what the route takes'],
  /** The host parsed the body before the console. Mount the console before the parser, or send whole numbers beyond 2^53 as texts. */
  'rounded-body': [400, 'The server may have rounded a number of the body'],
  /** A member is unknown, missing or out of range. The detail names it. */
  'invalid-query': [400, 'The query is not what the route takes'],
  /** The queue has a schema that the payload breaks, or JSON does not hold the payload. */
  'invalid-payload': [400, 'The payload cannot be stored'],
  /** A malformed `cron`, an unknown time zone, or fields that exclude each other. */
  'invalid-schedule': [400, 'The rule of the schedule is none'],
  /** Begin a new stream without `Last-Event-ID`. */
  'invalid-token': [400, 'The token belongs to no event of this stream'],
  /** Leave `runAt` out, or give a later one. It counts in ms. */
  'run-at-past': [400, 'The instant at which the task shall run is in the past'],
  /** `authorize` returned neither `read` nor `change`. */
  'not-authorized': [403, 'The console is closed to the sender of the request'],
  /** `authorize` returned `read`, and the request wants to change something. */
  'console-read-only': [403, 'The console is read-only'],
  /** A page of another site sent the request, or a program that names no page. Browsers name the page over HTTPS and on localhost. */
  'foreign-origin': [403, 'Pages of this origin may not use the API'],
  /** The header `Host` names none of the option `hosts`. */
  'foreign-host': [403, 'The API is not served under this host name'],
  /** The address is not below `mount`, or the console has no such address. */
  'unknown-route': [404, 'There is nothing at this address'],
  /** The queue has had neither a task nor settings, or the option `queues` leaves it out. */
  'unknown-queue': [404, 'There is no such queue'],
  /** It was never enqueued, or it ended and is no longer kept. */
  'unknown-task': [404, 'There is no such task'],
  'unknown-schedule': [404, 'The queue has no such schedule'],
  /** Operations are kept for a day. */
  'unknown-operation': [404, 'There is no such operation'],
  /** The detail names the methods. */
  'method-not-allowed': [405, 'The address does not take this method'],
  /** The priorities of a queue are those of its first task. */
  'priorities-mismatch': [409, 'The queue has other priorities'],
  /** Stop its workers first, or force it. */
  'queue-in-use': [409, 'The queue has active tasks, or workers that wait for tasks'],
  /** The shards of a queue are those of its first task. */
  'shards-mismatch': [409, 'The queue has another number of shards'],
  /** Wait for its end, or cancel it. */
  'task-active': [409, 'The task runs'],
  /** Use another id. */
  'task-conflict': [409, 'The id belongs to a task with another name or payload'],
  /** The task has 100 events that it has not taken. Deliver only events for which it waits. */
  'too-many-events': [409, 'The task has as many events as it may have'],
  'too-many-schedules': [409, 'The queue has as many schedules as it may have'],
  /** The field `state` has the state of the task. */
  'wrong-state': [409, 'The state of the task does not allow this'],
  /** A body has at most 1 MiB. A parser of the host may allow less. */
  'body-too-large': [413, 'The body is larger than the route takes'],
  /** Those that the task has not taken would have more than 262,144 bytes. */
  'events-too-large': [413, 'The task has as large events as it may have'],
  'payload-too-large': [413, 'The payload is larger than the queue allows'],
  /** Send `application/json`. */
  'unsupported-media-type': [415, 'The body is of a type that the route does not take'],
  'queue-full': [429, 'The queue holds as many tasks as it may'],
  /** Four run in a process. Wait for the end of one. */
  'too-many-operations': [429, 'As many operations of the tenant run as may run'],
  /** Mount the console before the code that reads bodies. */
  'body-consumed': [500, 'The server has read the body before the console'],
  /** `onError` has the error. */
  'internal-error': [500, 'The server failed'],
  /** Give the user of Redis the commands and keys of the queues. */
  'redis-denied': [503, 'Redis refuses a command to the user of the service'],
  /** Repeat the request. A change may have been made. */
  'redis-unavailable': [503, 'Redis cannot be reached'],
  /** `handler.close()` was called. */
  'shutting-down': [503, 'The server is shutting down'],
  /** A process has at most 100. Close tabs. */
  'too-many-streams': [503, 'As many streams are open as may be'],
} as const satisfies Record<string, readonly [status: number, title: string]>;

export type ProblemSlug = keyof typeof PROBLEMS;

export function isProblemSlug(text: string): text is ProblemSlug {
  return Object.hasOwn(PROBLEMS, text);
}

/** An answer that is a problem: thrown anywhere, sent as `application/problem+json`. */
export class Problem extends Error {
  static readonly className: string = 'Problem';
  override readonly name = 'Problem';
  readonly slug: ProblemSlug;
  /** Members of the document beside those of RFC 9457. */
  readonly fields: Readonly<Record<string, unknown>>;

  /** @param detail What is wrong with this request, for a person; never the text of an unexpected error. */
  constructor(
    slug: ProblemSlug,
    detail = '',
    fields: Readonly<Record<string, unknown>> = {},
    options?: ErrorOptions,
  ) {
    super(detail, options);
    this.slug = slug;
    this.fields = fields;
  }

  get status(): number {
    return PROBLEMS[this.slug][0];
  }

  toDocument(): Readonly<Record<string, unknown>> {
    const [status, title] = PROBLEMS[this.slug];
    const detail = this.message === '' ? {} : { detail: this.message };
    return { type: BASE + this.slug, title, status, ...detail, ...this.fields };
  }
}
