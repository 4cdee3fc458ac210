/** Requests to the API, under the cookie of the session. */
import { API } from './environment.ts';

const NOT_FOUND = 404;
/** Statuses from here on are failures of the server. */
const FIRST_FAILURE = 500;

/** A refusal of the API, as its problem document says it. */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem';
  readonly status: number;
  /** The last segment of the type, on which programs branch. */
  readonly slug: string;
  readonly requestId: string | undefined;

  constructor(status: number, document: Partial<ProblemDocument>) {
    const title = document.title ?? `The API answered ${status}`;
    const why = document.detail ?? document.errors?.map(whyOf).join('; ');
    super(why ? `${title}: ${why}` : title);
    this.status = status;
    this.slug = document.type?.split('/').at(-1) ?? '';
    this.requestId = document.instance;
  }
}

interface ProblemDocument {
  readonly type: string;
  readonly title: string;
  readonly detail: string;
  readonly instance: string;
  /** The wrong places of the body. */
  readonly errors: readonly Mistake[];
}

interface Mistake {
  readonly pointer: string;
  readonly message: string;
}

/** `priority: must be …` for the pointer `/priority`. */
function whyOf({ pointer, message }: Mistake): string {
  return pointer === '' ? message : `${pointer.slice(1)}: ${message}`;
}

/** Whether the API says that something is not there. */
export function isNotFound(error: Error | undefined): boolean {
  return error instanceof ApiProblem && error.status === NOT_FOUND;
}

/** Whether the API has refused a request: it would do that again. Otherwise it did not answer, or has failed. */
export function isRefusal(error: unknown): boolean {
  return error instanceof ApiProblem && error.status < FIRST_FAILURE;
}

type Method = 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';

interface Sent {
  readonly body?: unknown;
  /** In place of a body: its bytes are sent as they are. */
  readonly file?: Blob;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal | undefined;
}

/** An address of the API: each value is encoded. */
export function path(parts: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return String.raw({ raw: parts.raw }, ...values.map((value) => encodeURIComponent(value)));
}

/** The same with a query, without values that are undefined or empty. */
export function withQuery(
  address: string,
  query: Readonly<Record<string, string | number | boolean | undefined>>,
): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  if (given.length === 0) return address;
  return `${address}?${new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()}`;
}

/** Resolves to the JSON of the answer, undefined without one. Rejects with ApiProblem, or TypeError without an answer. */
export async function call<Answer = unknown>(
  method: Method,
  address: string,
  sent: Sent = {},
): Promise<Answer> {
  const text = await (await send(method, address, sent)).text();
  return (text === '' ? undefined : JSON.parse(text)) as Answer;
}

/** The same with the whole answer, for its headers. */
export async function send(
  method: Method,
  address: string,
  { body, file, headers, signal }: Sent = {},
): Promise<Response> {
  const response = await fetch(API + address, {
    method,
    credentials: 'same-origin',
    ...(signal && { signal }),
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(file && { 'content-type': 'application/octet-stream' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(file && { body: file }),
  });
  if (!response.ok) throw await refusalOf(response);
  return response;
}

export function get<Answer>(address: string, signal?: AbortSignal): Promise<Answer> {
  return call<Answer>('GET', address, { signal });
}

/** The problem of an answer. The watcher learns of each one. */
export async function refusalOf(response: Response): Promise<ApiProblem> {
  // A proxy may answer with a page.
  const document = (await response.json().catch(() => ({}))) as Partial<ProblemDocument>;
  const problem = new ApiProblem(response.status, document);
  watcher?.(problem);
  return problem;
}

let watcher: ((problem: ApiProblem) => void) | undefined;

/** Calls `listener` for each refusal of the API. */
export function watchRefusals(listener: (problem: ApiProblem) => void): void {
  watcher = listener;
}
