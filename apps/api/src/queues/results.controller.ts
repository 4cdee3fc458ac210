import { Controller, Get, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { TaskNotFoundError } from '@mortise/queues';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';

import { Answers } from '../http/answers.js';
import { Waits } from '../http/deadline.interceptor.js';
import { Name } from '../http/id.decorator.js';
import { OpenWaits } from '../limits/open-waits.js';
import { Problems } from '../http/problems.decorator.js';
import { waitOfQuery } from '../http/wait-of.js';
import { Problem } from '../problems/problem.js';
import { OpenQueues } from './open-queues.js';
import { namePayloadCodecs } from './payload-codecs.js';
import { resultQuery, resultSchema } from './schedule-schemas.js';
import { TaskId } from './task-id.decorator.js';

@ApiTags('tasks')
@Controller('v1/queues/:queue/tasks/:id/result')
export class ResultsController {
  constructor(
    private readonly queues: OpenQueues,
    private readonly waits: OpenWaits,
  ) {}

  @Get()
  @Waits(waitOfQuery)
  @ApiOperation({
    summary: 'Wait for the result of a task',
    description:
      'Returns the return value of the handler, or the result with which the task was completed. A retry of ' +
      'the task prolongs the wait. A result that its worker has encoded comes as it is stored, ' +
      '`{ "$codec", "data" }`. The header `Payload-Codecs` names the codecs.',
  })
  @Answers(resultSchema, 'The task has succeeded.', 'Payload-Codecs')
  @Problems(
    'invalid-id',
    'invalid-query',
    'unknown-queue',
    'unknown-task',
    'task-dead',
    'task-cancelled',
    'result-timeout',
    'too-many-waits',
    'quota-exceeded',
    'shutting-down',
  )
  async readResult(
    @Name('queue') queueName: string,
    @TaskId() id: string,
    @Query({ schema: resultQuery }) { waitMs }: z.infer<typeof resultQuery>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof resultSchema>> {
    return this.waits.run(reply, waitMs, (signal) =>
      this.queues.use(queueName, async (queue) => {
        try {
          const result = await queue.result(id, { waitMs, signal });
          namePayloadCodecs(reply, [result]);
          return result === undefined ? {} : { result };
        } catch (error) {
          if (!(error instanceof TaskNotFoundError)) throw error;
          throw new Problem('unknown-task', `there is no task "${id}"`, { queue: queueName, taskId: id });
        }
      }),
    );
  }
}
