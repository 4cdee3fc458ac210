import { noteTask } from '@mortise/app-common/log';
import { Body, Controller, Delete, Get, HttpStatus, Post, Put, Query, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Queue } from '@mortise/queues';
import { childrenOf, cutJson, exactParse, findTasks, storedEvents, taskTimes } from '@mortise/queues/admin';
import type { CutJson } from '@mortise/queues/admin';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';

import { Answers, AnswersNothing, Creates } from '../http/answers.js';
import { LARGE_BODY } from '../http/body-config.js';
import { Name } from '../http/id.decorator.js';
import { IdempotencyKey, TakesIdempotencyKey } from '../http/idempotency-key.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { senderIdOf } from '../http/sender-id.js';
import { problemOf } from '../problems/problem-of.js';
import { Quotas } from '../limits/quotas.js';
import { Problem } from '../problems/problem.js';
import { actOnTask, unknownTask } from './act-on-task.js';
import { refuseMisuse, refuseReuse } from './misuse.js';
import { childrenSchema } from './flow-schemas.js';
import { OpenQueues } from './open-queues.js';
import { namePayloadCodecs } from './payload-codecs.js';
import { Redaction } from '../callers/redaction.js';
import { requestHeadersOf } from './request-headers.js';
import { batchSchema, cancelBody, enqueuedSchema, taskSchema, tasksPage, tasksQuery } from './schemas.js';
import { batchBody, payloadBody, taskBody } from './new-task-schemas.js';
import { priorityBody, rescheduleBody } from './operation-schemas.js';
import { taskQuery, timesSchema } from './shown-schemas.js';
import { TaskId } from './task-id.decorator.js';

type Enqueued = z.infer<typeof enqueuedSchema>;
type NewTask = z.infer<typeof taskBody>;

@ApiTags('tasks')
@Controller('v1/queues/:queue')
export class TasksController {
  constructor(
    private readonly queues: OpenQueues,
    private readonly quotas: Quotas,
    private readonly redaction: Redaction,
  ) {}

  @Post('tasks')
  @RouteConfig(LARGE_BODY)
  @ApiOperation({
    summary: 'Enqueue a task',
    description: 'The first task creates the queue. A payload has up to 262,144 bytes, a body 1 MiB.',
  })
  @TakesIdempotencyKey('Becomes the id of the task: the same request again stores nothing.')
  @Creates(
    enqueuedSchema,
    'The task is stored.',
    'A task with this id was there before, or another task has the key.',
    'Location',
  )
  @Problems(
    'invalid-id',
    ...BODY_PROBLEMS,
    'invalid-idempotency-key',
    'invalid-payload',
    'quota-exceeded',
    'run-at-past',
    'task-conflict',
    'request-reused',
    'payload-too-large',
    'queue-full',
  )
  async enqueueTask(
    @Name('queue') queueName: string,
    @Body({ schema: taskBody }) body: NewTask,
    @IdempotencyKey() key: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Enqueued> {
    if (key !== undefined && body.dedupKey !== undefined) {
      const errors = [{ pointer: '/dedupKey', message: 'excludes the Idempotency-Key' }];
      throw new Problem('invalid-body', undefined, { errors });
    }
    const task = { ...body, ...senderIdOf(body.id, key) };
    await this.quotas.requireTasks(1);
    const { id, isDuplicate } = await this.queues
      .found(queueName, (queue) => enqueue(queue, task))
      .catch(refuseReuse(key));
    noteTask(id);
    reply.status(isDuplicate ? HttpStatus.OK : HttpStatus.CREATED);
    reply.header('location', `/v1/queues/${encodeURIComponent(queueName)}/tasks/${encodeURIComponent(id)}`);
    return { id, isDuplicate };
  }

  @Post('task-batches')
  @RouteConfig(LARGE_BODY)
  @ApiOperation({
    summary: 'Enqueue up to 1,000 tasks',
    description:
      'Stores the tasks in order, each on its own. The answer has an outcome for each task. Give ids to make ' +
      'the batch repeatable.',
  })
  @Answers(batchSchema, 'The outcome of each task.')
  @Problems('invalid-id', ...BODY_PROBLEMS, 'quota-exceeded')
  async enqueueTasks(
    @Name('queue') queueName: string,
    @Body({ schema: batchBody }) { tasks }: z.infer<typeof batchBody>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof batchSchema>> {
    await this.quotas.requireTasks(tasks.length);
    const outcomes = await this.queues.found(queueName, (queue) =>
      Promise.allSettled(tasks.map((task) => enqueue(queue, task))),
    );
    const items = outcomes.map((outcome) => {
      if (outcome.status === 'fulfilled')
        return { id: outcome.value.id, isDuplicate: outcome.value.isDuplicate };
      const problem = problemOf(outcome.reason);
      // The outcome is unknown: the client may repeat the whole batch.
      if (problem.status >= 500) throw outcome.reason as Error;
      return { problem: problem.toDocument(reply.request.id) };
    });
    return { items };
  }

  @Get('tasks')
  @ApiOperation({
    summary: 'List the tasks in one state',
    description:
      'Lists tasks without payloads. Ready tasks come in the order in which workers fetch them, finished tasks ' +
      'the latest first. A page visits 1,000 tasks at most, so it may be empty for a rare name: go on until ' +
      '`nextCursor` is null. A page by `field` may have up to 199 tasks more than `limit`. `isCapped` is true ' +
      'if such a page ended after 1,000 visited tasks.',
  })
  @Answers(tasksPage, 'A page of tasks.')
  @Problems('invalid-id', 'invalid-query', 'invalid-cursor', 'unknown-queue')
  async listTasks(
    @Name('queue') queueName: string,
    @Query({ schema: tasksQuery }) query: z.infer<typeof tasksQuery>,
    @Req() { principal }: FastifyRequest,
  ): Promise<z.infer<typeof tasksPage>> {
    const { state, name, cursor, limit, field } = query;
    this.redaction.requireVisible(query, principal, 'invalid-query');
    if (field !== undefined) {
      return this.queues.use(queueName, async (queue) => {
        const {
          tasks,
          cursor: nextCursor,
          isCapped,
        } = await findTasks(queue, state, query, { limit, cursor }).catch(refuseMisuse);
        const items = tasks.map(({ payload: _payload, result: _result, logs: _logs, ...task }) => ({
          ...task,
          queue: queueName,
        }));
        return { items, nextCursor, isCapped };
      });
    }
    const options = {
      limit,
      ...(name !== undefined && { name }),
      ...(cursor !== undefined && { cursor }),
    };
    return this.queues.use(queueName, async (queue) => {
      const page = await queue.summaries(state, options).catch(refuseMisuse);
      return { items: page.tasks.map((task) => ({ ...task, queue: queueName })), nextCursor: page.cursor };
    });
  }

  @Get('tasks/:id')
  @ApiOperation({
    summary: 'Read a task',
    description:
      'Finished tasks are kept only for a while. In the session of a browser, values of members whose names ' +
      'are in `REDACT` are shown as `[redacted]`.',
  })
  @Answers(taskSchema, 'The task.', 'Payload-Codecs')
  @Problems('invalid-id', 'invalid-query', 'unknown-queue', 'unknown-task')
  async readTask(
    @Name('queue') queueName: string,
    @TaskId() id: string,
    @Query({ schema: taskQuery }) { maxBytes }: z.infer<typeof taskQuery>,
    @Req() { principal }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof taskSchema>> {
    const shown = (value: unknown): CutJson => cutJson(this.redaction.shown(value, principal), maxBytes);
    return this.queues.use(queueName, async (queue) => {
      // Without a limit clients get numbers, rounded as theirs would be.
      const task = await queue.get(id, maxBytes === undefined ? {} : { parse: exactParse });
      if (!task) throw unknownTask(queueName, id);
      const { logs, steps, payload, result, ...others } = task;
      namePayloadCodecs(reply, [payload, result]);
      const [sent, returned] = [shown(payload), shown(result)];
      return {
        ...others,
        ...(sent.text === undefined
          ? { payload: sent.value }
          : { payloadText: sent.text, payloadBytes: sent.bytes }),
        ...(returned.text === undefined
          ? returned.value !== undefined && { result: returned.value }
          : { resultText: returned.text, resultBytes: returned.bytes }),
        ...(logs && { logs: [...logs] }),
        ...(steps && { steps: [...steps] }),
        queue: queueName,
      };
    });
  }

  @Get('times')
  @ApiOperation({
    summary: 'Read how long tasks wait and run',
    description:
      'The percentiles come from the last 2,000 events of the queue. The first call switches the events of the ' +
      'queue on, unless a session of a read-only console sends it.',
  })
  @Answers(timesSchema, 'Percentiles, ms.')
  @Problems('invalid-id', 'unknown-queue')
  async readTimes(
    @Name('queue') queueName: string,
    @Req() { principal }: FastifyRequest,
  ): Promise<z.infer<typeof timesSchema>> {
    return this.queues.use(queueName, async (queue) => {
      const events = await storedEvents(queue, { isReadOnly: principal?.isReadOnly });
      return { hasEvents: events !== null, ...taskTimes(events ?? []) };
    });
  }

  @Get('tasks/:id/children')
  @ApiOperation({
    summary: 'Read the children of a task',
    description:
      'Returns all children with their states. The process that runs the task can read their results. When the ' +
      'parent has succeeded, the results are with the children alone.',
  })
  @Answers(childrenSchema, 'The children, or none.')
  @Problems('invalid-id', 'unknown-queue', 'unknown-task')
  async listChildren(
    @Name('queue') queueName: string,
    @TaskId() id: string,
  ): Promise<z.infer<typeof childrenSchema>> {
    return this.queues.use(queueName, async (queue) => {
      const children = await childrenOf(queue, id, (name) => this.queues.find(name));
      if (children) return { count: children.count, items: [...children.items] };
      if (!(await queue.get(id))) throw unknownTask(queueName, id);
      return { count: 0, items: [] };
    });
  }

  @Delete('tasks/:id')
  @ApiOperation({
    summary: 'Remove a task',
    description:
      'Removes the task and all its data. An active task is cancelled first. A repeated request gets `unknown-task`.',
  })
  @AnswersNothing('The task is removed.')
  @Problems('invalid-id', 'unknown-queue', 'unknown-task', 'task-active')
  async removeTask(@Name('queue') queueName: string, @TaskId() id: string): Promise<void> {
    await this.queues.use(queueName, async (queue) => {
      if (!(await queue.remove(id))) throw unknownTask(queueName, id);
    });
  }

  @Post('tasks/:id/retry')
  @ApiOperation({
    summary: 'Retry a task',
    description:
      'A dead or cancelled task gets all its attempts again; a retrying task runs now. A repeated request gets ' +
      '`wrong-state`, with the present state.',
  })
  @AnswersNothing('The task is due now.')
  @Problems('invalid-id', 'unknown-queue', 'unknown-task', 'wrong-state')
  async retryTask(@Name('queue') queueName: string, @TaskId() id: string): Promise<void> {
    await actOnTask(this.queues, queueName, id, (queue) => queue.retry(id));
  }

  @Post('tasks/:id/promote')
  @ApiOperation({
    summary: 'Make a task due now',
    description:
      'A scheduled or retrying task is due now. A repeated request gets `wrong-state`, with the present state.',
  })
  @AnswersNothing('The task is due now.')
  @Problems('invalid-id', 'unknown-queue', 'unknown-task', 'wrong-state')
  async promoteTask(@Name('queue') queueName: string, @TaskId() id: string): Promise<void> {
    await actOnTask(this.queues, queueName, id, (queue) => queue.promote(id));
  }

  @Post('tasks/:id/cancel')
  @ApiOperation({
    summary: 'Cancel a task',
    description:
      'A waiting task never runs. The worker of an active task is notified, and its completion is refused. A ' +
      'repeated request gets `wrong-state`, with the present state.',
  })
  @AnswersNothing('The task is cancelled.')
  @Problems('invalid-id', ...BODY_PROBLEMS, 'unknown-queue', 'unknown-task', 'wrong-state')
  async cancelTask(
    @Name('queue') queueName: string,
    @TaskId() id: string,
    @Body({ schema: cancelBody }) { reason }: z.infer<typeof cancelBody>,
  ): Promise<void> {
    await actOnTask(this.queues, queueName, id, (queue) => queue.cancel(id, { reason }));
  }

  @Post('tasks/:id/reschedule')
  @ApiOperation({
    summary: 'Move a waiting task to another time',
    description:
      'A ready, scheduled or retrying task runs after `delayMs`, or at `runAt`. A repeated request with `runAt` changes nothing.',
  })
  @AnswersNothing('The task has the new time.')
  @Problems('invalid-id', ...BODY_PROBLEMS, 'run-at-past', 'unknown-queue', 'unknown-task', 'wrong-state')
  async rescheduleTask(
    @Name('queue') queueName: string,
    @TaskId() id: string,
    @Body({ schema: rescheduleBody }) body: z.infer<typeof rescheduleBody>,
  ): Promise<void> {
    await actOnTask(this.queues, queueName, id, (queue) => queue.reschedule(id, body).catch(refuseMisuse));
  }

  @Post('tasks/:id/priority')
  @ApiOperation({
    summary: 'Move a waiting task to another priority',
    description: 'The task comes after the ready tasks of that priority. A repeated request changes nothing.',
  })
  @AnswersNothing('The task has the priority.')
  @Problems('invalid-id', ...BODY_PROBLEMS, 'unknown-queue', 'unknown-task', 'wrong-state')
  async prioritizeTask(
    @Name('queue') queueName: string,
    @TaskId() id: string,
    @Body({ schema: priorityBody }) { priority }: z.infer<typeof priorityBody>,
  ): Promise<void> {
    await actOnTask(this.queues, queueName, id, (queue) =>
      queue.setPriority(id, priority).catch(refuseMisuse),
    );
  }

  @Put('tasks/:id/payload')
  @RouteConfig(LARGE_BODY)
  @ApiOperation({
    summary: 'Replace the payload of a task',
    description:
      'Replaces the payload of a task that is neither active nor succeeded. A repeated request changes nothing.',
  })
  @AnswersNothing('The task has the payload.')
  @Problems(
    'invalid-id',
    ...BODY_PROBLEMS,
    'invalid-payload',
    'payload-too-large',
    'quota-exceeded',
    'unknown-queue',
    'unknown-task',
    'wrong-state',
  )
  async replacePayload(
    @Name('queue') queueName: string,
    @TaskId() id: string,
    @Body({ schema: payloadBody }) { payload }: z.infer<typeof payloadBody>,
  ): Promise<void> {
    await actOnTask(this.queues, queueName, id, (queue) => queue.setPayload(id, payload));
  }
}

async function enqueue(
  queue: Queue,
  { name, payload, headers, ...given }: Omit<NewTask, 'id'> & { readonly id?: string | undefined },
): Promise<Enqueued> {
  if (given.dedupMs !== undefined && given.id === undefined) {
    const errors = [{ pointer: '/dedupMs', message: 'needs an id' }];
    throw new Problem('invalid-body', undefined, { errors });
  }
  const options = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return queue.enqueue(name, payload, { ...options, ...requestHeadersOf(headers) }).catch(refuseMisuse);
}
