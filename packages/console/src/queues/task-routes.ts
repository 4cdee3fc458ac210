/** The routes of tasks. */
import type { EnqueueOptions, Queue, RescheduleOptions } from '@mortise/queues';
import { childrenOf, exactParse, findTasks, storedEvents } from '@mortise/queues/admin';
import { requireText } from '@mortise/redis';

import { Problem } from '../http/problem.js';
import type { Answer, Call, Routes } from '../http/router.js';
import { done, DONE } from '../http/router.js';
import { digitsOf, membersOf, pageLimitOf, present, queryOf, stateOf } from './given.js';
import type { OpenQueues } from './open-queues.js';
import type { TaskViews } from './task-views.js';

const MAX_SHOWN_BYTES = 1_048_576;
const MAX_REASON_BYTES = 1_024;

const TASK_OPTIONS = ['priority', 'attempts', 'backoff', 'timeoutMs', 'expiresInMs', 'headers', 'group'];
export const TASK_MEMBERS: readonly string[] = ['name', 'payload', ...TASK_OPTIONS];

export class TaskRoutes {
  readonly #queues: OpenQueues;
  readonly #views: TaskViews;

  constructor(queues: OpenQueues, views: TaskViews) {
    this.#queues = queues;
    this.#views = views;
  }

  get routes(): Routes {
    return {
      'GET queues/:queue/tasks': (call) => this.#list(call),
      'POST queues/:queue/tasks': (call) => this.#enqueue(call),
      'GET queues/:queue/tasks/:id': (call) => this.#read(call),
      'DELETE queues/:queue/tasks/:id': async ({ params: { queue, id } }) => {
        const isRemoved = await this.#queues.use(queue!, (its) => its.remove(id!));
        if (!isRemoved) throw unknownTask(queue!, id!);
        return DONE;
      },
      'GET queues/:queue/tasks/:id/events': (call) => this.#events(call),
      'POST queues/:queue/tasks/:id/events': (call) => {
        const { event, payload, id: delivery } = membersOf(call.body, ['event', 'payload', 'id']);
        const options = delivery === undefined ? {} : { id: delivery as string };
        return this.#act(call, (queue, id) => queue.deliver(id, event as string, payload, options));
      },
      'GET queues/:queue/tasks/:id/children': (call) => this.#children(call),
      'POST queues/:queue/tasks/:id/retry': (call) => this.#act(call, (queue, id) => queue.retry(id)),
      'POST queues/:queue/tasks/:id/promote': (call) => this.#act(call, (queue, id) => queue.promote(id)),
      'POST queues/:queue/tasks/:id/cancel': (call) => {
        const { reason = '' } = membersOf(call.body, ['reason']);
        const text = requireText('reason', reason, { min: 0, max: MAX_REASON_BYTES });
        return this.#act(call, (queue, id) => queue.cancel(id, { reason: text }));
      },
      'POST queues/:queue/tasks/:id/reschedule': (call) => {
        const options = membersOf(call.body, ['delayMs', 'runAt']) as RescheduleOptions;
        return this.#act(call, (queue, id) => queue.reschedule(id, options));
      },
      'POST queues/:queue/tasks/:id/priority': (call) => {
        const { priority } = membersOf(call.body, ['priority']);
        return this.#act(call, (queue, id) => queue.setPriority(id, priority as string));
      },
    };
  }

  async #list({ params: { queue: name }, query }: Call): Promise<Answer> {
    const given = queryOf(query, ['state', 'name', 'cursor', 'limit', 'field', 'equals']);
    const { state: stateText, name: taskName, cursor, field, equals } = given;
    const [state, limit] = [stateOf(stateText), pageLimitOf(given.limit)];
    if ((field === undefined) !== (equals === undefined))
      throw new Problem('invalid-query', 'field goes together with equals');
    if (field !== undefined && this.#views.hides(field, equals))
      throw new Problem('invalid-query', 'field is redacted');
    return this.#queues.use(name!, async (queue) => {
      if (field === undefined) {
        const page = await queue.summaries(state, present({ limit, name: taskName, cursor }));
        const items = page.tasks.map((task) => this.#views.summary(name!, task));
        return done({ items, nextCursor: page.cursor });
      }
      const filter = { name: taskName, field, equals };
      const {
        tasks,
        cursor: nextCursor,
        isCapped,
      } = await findTasks(queue, state, filter, { limit, cursor });
      const items = tasks.map(({ payload: _payload, result: _result, logs: _logs, ...task }) =>
        this.#views.summary(name!, task),
      );
      return done({ items, nextCursor, isCapped });
    });
  }

  async #enqueue({ params: { queue: queueName }, body }: Call): Promise<Answer> {
    const members = membersOf(body, [...TASK_MEMBERS, 'id', 'delayMs', 'runAt', 'dedupMs']);
    const { name, payload, ...options } = members;
    const { id, isDuplicate } = await this.#queues.found(queueName!, (queue) =>
      queue.enqueue(name as string, payload, options as EnqueueOptions),
    );
    return { status: isDuplicate ? 200 : 201, body: { id, isDuplicate } };
  }

  async #read({ params: { queue: name, id }, query }: Call): Promise<Answer> {
    const { maxBytes } = queryOf(query, ['maxBytes']);
    const most = maxBytes === undefined ? undefined : digitsOf('maxBytes', maxBytes, 1, MAX_SHOWN_BYTES);
    const parse = most === undefined ? undefined : exactParse;
    const task = await this.#queues.use(name!, (queue) => queue.get(id!, { parse }));
    if (!task) throw unknownTask(name!, id!);
    return done(this.#views.task(name!, task, most));
  }

  async #events({ params: { queue: name, id }, right }: Call): Promise<Answer> {
    const events = await this.#queues.use(name!, (queue) =>
      storedEvents(queue, { isReadOnly: right === 'read' }),
    );
    const items = (events ?? [])
      .filter((event) => event.id === id)
      .map((event) => {
        const { type, at, attempt, event: named, error, progress } = this.#views.event(event);
        return present({ type, at, attempt, event: named, error, progress });
      });
    return done({ hasEvents: events !== null, items });
  }

  #children({ params: { queue: name, id } }: Call): Promise<Answer> {
    return this.#queues.use(name!, async (queue) => {
      const children = await childrenOf(queue, id!, (home) => this.#queues.find(home));
      if (!children && !(await queue.get(id!))) throw unknownTask(name!, id!);
      const { count, items } = children ?? { count: 0, items: [] };
      const shown = items.map((child) =>
        this.#queues.allows(child.queue) ? this.#views.child(child) : { queue: child.queue, id: child.id },
      );
      return done({ count, items: shown });
    });
  }

  /** Throws the problems `unknown-task` and `wrong-state`. */
  #act(
    { params: { queue: name, id } }: Call,
    act: (queue: Queue, id: string) => Promise<boolean>,
  ): Promise<Answer> {
    return this.#queues.use(name!, async (queue) => {
      if (await act(queue, id!)) return DONE;
      const task = await queue.get(id!);
      if (!task) throw unknownTask(name!, id!);
      const { state } = task;
      throw new Problem('wrong-state', `task "${id}" is ${state}`, { queue: name, taskId: id, state });
    });
  }
}

function unknownTask(queue: string, taskId: string): Problem {
  return new Problem('unknown-task', `there is no task "${taskId}"`, { queue, taskId });
}
