/** Events of tasks: those that happened to them, and those that are delivered to them. */
import { Body, Controller, Get, Post, Req } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { storedEvents } from '@mortise/queues/admin';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';

import { Answers, AnswersNothing } from '../http/answers.js';
import { LARGE_BODY } from '../http/body-config.js';
import { Name } from '../http/id.decorator.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { actOnTask } from './act-on-task.js';
import { OpenQueues } from './open-queues.js';
import { taskEventsSchema } from './shown-schemas.js';
import { eventBody } from './step-schemas.js';
import { TaskId } from './task-id.decorator.js';

@ApiTags('tasks')
@Controller('v1/queues/:queue/tasks/:id/events')
export class TaskEventsController {
  constructor(private readonly queues: OpenQueues) {}

  @Get()
  @ApiOperation({
    summary: 'Read what happened to a task',
    description:
      'Searches the last 2,000 events of the queue. The first call switches the events of the queue on, unless ' +
      'a session of a read-only console sends it.',
  })
  @Answers(taskEventsSchema, 'The events of the task, or none if they are older.')
  @Problems('invalid-id', 'unknown-queue')
  async taskEvents(
    @Name('queue') queueName: string,
    @TaskId() id: string,
    @Req() { principal }: FastifyRequest,
  ): Promise<z.infer<typeof taskEventsSchema>> {
    return this.queues.use(queueName, async (queue) => {
      const events = await storedEvents(queue, { isReadOnly: principal?.isReadOnly });
      const items = (events ?? [])
        .filter((event) => event.id === id)
        .map(({ type, at, attempt, event, error, progress }) => ({
          type,
          at,
          ...(attempt !== undefined && { attempt }),
          ...(event !== undefined && { event }),
          ...(error && { error: { ...error } }),
          ...(progress !== undefined && { progress }),
        }));
      return { hasEvents: events !== null, items };
    });
  }

  @Post()
  @RouteConfig(LARGE_BODY)
  @ApiOperation({
    summary: 'Deliver an event to a task',
    description:
      'A task that waits for the event continues. Otherwise the task keeps the event until its handler waits ' +
      'for it. A repeated request with the same `id` changes nothing. A task that has ended gets `wrong-state`.',
  })
  @AnswersNothing('The task has the event.')
  @Problems(
    'invalid-id',
    ...BODY_PROBLEMS,
    'too-many-events',
    'events-too-large',
    'quota-exceeded',
    'unknown-queue',
    'unknown-task',
    'wrong-state',
  )
  async deliverEvent(
    @Name('queue') queueName: string,
    @TaskId() taskId: string,
    @Body({ schema: eventBody }) { event, payload, id }: z.infer<typeof eventBody>,
  ): Promise<void> {
    await actOnTask(this.queues, queueName, taskId, (queue) => queue.deliver(taskId, event, payload, { id }));
  }
}
