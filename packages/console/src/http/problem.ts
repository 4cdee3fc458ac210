/** Refusals, as RFC 9457 documents them. Types and titles are those of the HTTP service, and the page knows both. */
const BASE = 'https://mortise.dev/problems/';

const PROBLEMS = {
  'malformed-url': [400, 'The address of the request cannot be decoded'],
  'malformed-json': [400, 'The body is not JSON'],
  'malformed-request': [400, 'The request is not HTTP that the server understands'],
  'invalid-body': [400, 'The body is not what the route takes'],
  'invalid-query': [400, 'The query is not what the route takes'],
  'invalid-payload': [400, 'The payload cannot be stored'],
  'invalid-schedule': [400, 'The rule of the schedule is none'],
  'invalid-token': [400, 'The token belongs to no event of this stream'],
  'run-at-past': [400, 'The instant at which the task shall run is in the past'],
  'not-authorized': [403, 'The console is closed to the sender of the request'],
  'console-read-only': [403, 'The console is read-only'],
  'foreign-origin': [403, 'Pages of this origin may not use the API'],
  'foreign-host': [403, 'The API is not served under this host name'],
  'unknown-route': [404, 'There is nothing at this address'],
  'unknown-queue': [404, 'There is no such queue'],
  'unknown-task': [404, 'There is no such task'],
  'unknown-schedule': [404, 'The queue has no such schedule'],
  'unknown-operation': [404, 'There is no such operation'],
  'method-not-allowed': [405, 'The address does not take this method'],
  'priorities-mismatch': [409, 'The queue has other priorities'],
  'queue-in-use': [409, 'The queue has active tasks, or workers that wait for tasks'],
  'shards-mismatch': [409, 'The queue has another number of shards'],
  'task-active': [409, 'The task runs'],
  'task-conflict': [409, 'The id belongs to a task with another name or payload'],
  'too-many-schedules': [409, 'The queue has as many schedules as it may have'],
  'wrong-state': [409, 'The state of the task does not allow this'],
  'body-too-large': [413, 'The body is larger than the route takes'],
  'payload-too-large': [413, 'The payload is larger than the queue allows'],
  'unsupported-media-type': [415, 'The body is of a type that the route does not take'],
  'queue-full': [429, 'The queue holds as many tasks as it may'],
  'too-many-operations': [429, 'As many operations of the tenant run as may run'],
  'internal-error': [500, 'The server failed'],
  'redis-denied': [503, 'Redis refuses a command to the user of the service'],
  'redis-unavailable': [503, 'Redis cannot be reached'],
  'shutting-down': [503, 'The server is shutting down'],
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
