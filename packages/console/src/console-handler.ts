/**
 * The console of a team's own program: the page, and the part of the HTTP API that its areas of queues call, in one function. A request is
 * checked in this order: the host, the page that sends it, so that another page does not learn whether its user is an operator,
 * `authorize`, then the right that the method needs. Nothing is public, not even the page.
 */
import type { IncomingMessage } from 'node:http';

import { Overviews } from '@mortise/queues';
import { BulkOperations, LiveOverview } from '@mortise/queues/admin';
import type { RedisClient } from '@mortise/redis';
import { ErrorReporter, requireClient } from '@mortise/redis';

import type { ConsoleRequest, ConsoleResponse, ConsoleRight } from './http/http-call.js';
import { HttpCall } from './http/http-call.js';
import { requireHost, requireOwnPage } from './http/own-page.js';
import { problemOf } from './http/problem-of.js';
import { Problem } from './http/problem.js';
import type { Answer } from './http/router.js';
import { done, Router } from './http/router.js';
import { Streams } from './live/streams.js';
import { Topics } from './live/topics.js';
import type { ConsoleOptions, ResolvedOptions } from './options.js';
import { resolveOptions } from './options.js';
import { PageFiles } from './page/page-files.js';
import { OpenQueues } from './queues/open-queues.js';
import { operationRoutes } from './queues/operation-routes.js';
import { queueRoutes } from './queues/queue-routes.js';
import { scheduleRoutes } from './queues/schedule-routes.js';
import { TaskRoutes } from './queues/task-routes.js';
import { TaskViews } from './queues/task-views.js';
import { sessionOf } from './session.js';

/** Below the mount. Other paths are those of the page. */
const API = '/v1/';

/** Answers requests of node:http, Express, NestJS and Fastify. */
export interface ConsoleHandler extends AsyncDisposable {
  /** @param next Called for an address that is not below the mount. Without it the answer is 404. */
  (request: ConsoleRequest, response: ConsoleResponse, next?: (error?: unknown) => void): Promise<void>;
  /**
   * Ends open streams, and interrupts bulk operations. New streams and operations are refused. Call it before the end of the
   * process.
   */
  close: () => Promise<void>;
}

/**
 * Makes the handler of a console. The call sends nothing to Redis until a request comes, and reads the page from the files of
 * the package. Throws ERR_INVALID_ARG for wrong options, and without `authorize`.
 *
 * @param redis An ioredis client, used as it is and never closed.
 */
export function consoleHandler<Request extends ConsoleRequest = IncomingMessage>(
  redis: RedisClient,
  options: ConsoleOptions<Request>,
): ConsoleHandler {
  const handler = new Handler(requireClient(redis), resolveOptions(options));
  const close = (): Promise<void> => handler.close();
  return Object.assign(
    (request: ConsoleRequest, response: ConsoleResponse, next?: (error?: unknown) => void) =>
      handler.handle(new HttpCall(request, response), next),
    { close, [Symbol.asyncDispose]: close },
  );
}

class Handler {
  static readonly className: string = 'Handler';
  readonly #options: ResolvedOptions;
  readonly #errors: ErrorReporter;
  readonly #page: PageFiles;
  readonly #router: Router;
  readonly #topics: Topics;
  readonly #streams: Streams;
  readonly #operations: BulkOperations;
  #isClosed = false;

  constructor(redis: RedisClient, options: ResolvedOptions) {
    const { mount, prefix, queues: names, redact, onError } = options;
    this.#options = options;
    this.#errors = new ErrorReporter('mortise console', onError);
    const report = (error: unknown): void => this.#errors.report(error);
    this.#page = new PageFiles(mount);
    const queues = new OpenQueues(redis, prefix, names);
    const views = new TaskViews(redact);
    const overview = new LiveOverview(new Overviews(redis, { prefix }), () => queues.names(), {
      workers: queues.workers,
    });
    this.#operations = new BulkOperations(redis, { prefix, onError: report });
    this.#topics = new Topics(queues, overview, views, this.#operations);
    this.#streams = new Streams(report);
    this.#router = new Router({
      'GET overview': async () => done(await overview.read()),
      ...queueRoutes(queues),
      ...new TaskRoutes(queues, views).routes,
      ...scheduleRoutes(queues),
      ...operationRoutes(this.#operations, queues, views, () => this.#isClosed),
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#streams.stop();
    await this.#operations.stop();
  }

  /** Never rejects. */
  async handle(http: HttpCall, next: ((error?: unknown) => void) | undefined): Promise<void> {
    const { mount } = this.#options;
    const [path = '', query = ''] = http.address.split(/\?(.*)/s);
    const isMounted = path === mount || path.startsWith(`${mount}/`);
    if (!isMounted && next) return next();
    try {
      if (!isMounted) throw new Problem('unknown-route');
      requireHost(http.request.headers, this.#options.hosts);
      const below = path.slice(mount.length);
      if (below.startsWith(API)) await this.#answer(http, below.slice(API.length), query);
      else await this.#show(http, below);
    } catch (error) {
      this.#refuse(http, error);
    }
    return undefined;
  }

  async #show(http: HttpCall, below: string): Promise<void> {
    if (http.method !== 'GET') throw new Problem('method-not-allowed', 'it takes GET');
    await this.#requireRight(http);
    // Its files are found from the address of the page, with the slash.
    if (below === '') http.send(308, { location: `${this.#options.mount}/` });
    else this.#page.send(http, below.slice(1));
  }

  async #answer(http: HttpCall, path: string, query: string): Promise<void> {
    const { method } = http;
    requireOwnPage(method === 'GET', http.request.headers);
    const right = await this.#requireRight(http);
    if (path === 'session') {
      const session = sessionOf(method, right);
      http.sendJson(session.status, session.body);
    } else if (path === 'events' && method === 'GET') await this.#stream(http, query, right);
    else if (method === 'GET') {
      const { status, body } = await this.#call(http, path, query, right);
      http.sendJson(status, body);
    } else await this.#change(http, path, query, right);
  }

  async #stream(http: HttpCall, query: string, right: ConsoleRight): Promise<void> {
    const { 'last-event-id': lastEventId } = http.request.headers;
    await this.#streams.serve(
      http,
      (signal) =>
        this.#topics.open(new URLSearchParams(query), lastEventId as string | undefined, signal, right),
      async () => (await this.#rightOf(http)) !== undefined,
    );
  }

  /** Answers when `onAction` has the action, which may be refused. */
  async #change(http: HttpCall, path: string, query: string, right: ConsoleRight): Promise<void> {
    let answer: Answer | Problem;
    try {
      if (right !== 'change') throw new Problem('console-read-only');
      answer = await this.#call(http, path, query, right);
    } catch (error) {
      answer = this.#problemOf(http, error);
    }
    await this.#tell(http, path, answer.status);
    if (answer instanceof Problem) http.sendProblem(answer);
    else http.sendJson(answer.status, answer.body);
  }

  async #call(http: HttpCall, path: string, query: string, right: ConsoleRight): Promise<Answer> {
    const { handle, params } = this.#router.find(http.method, path);
    const body = http.method === 'GET' ? undefined : await http.body();
    return handle({ params, query: new URLSearchParams(query), body, right });
  }

  async #tell({ given: request, method }: HttpCall, path: string, status: number): Promise<void> {
    const { onAction } = this.#options;
    const action = { at: Date.now(), method, path, status };
    if (!onAction) {
      console.error(`mortise console: ${JSON.stringify(action)}`);
      return;
    }
    try {
      await onAction({ ...action, request });
    } catch (error) {
      this.#errors.report(error);
    }
  }

  /** Throws the problem `not-authorized`. */
  async #requireRight(http: HttpCall): Promise<ConsoleRight> {
    const right = await this.#rightOf(http);
    if (right === undefined) throw new Problem('not-authorized');
    return right;
  }

  /** Anything but the two words is no right: `true` would be one by mistake. */
  async #rightOf({ given }: HttpCall): Promise<ConsoleRight | undefined> {
    const right = await this.#options.authorize(given);
    return right === 'read' || right === 'change' ? right : undefined;
  }

  #refuse(http: HttpCall, error: unknown): void {
    const problem = this.#problemOf(http, error);
    if (!http.response.headersSent) http.sendProblem(problem);
    else http.response.destroy();
  }

  #problemOf({ method }: HttpCall, error: unknown): Problem {
    const problem = problemOf(error, method !== 'GET');
    if (problem.status === 500) this.#errors.report(error);
    return problem;
  }
}
