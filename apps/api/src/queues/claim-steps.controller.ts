/** Lets an HTTP client that works as a worker remember steps, and wait for events. */
import { Body, Controller, Get, Post, Put, Query } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';

import { Answers, AnswersNothing } from '../http/answers.js';
import { LARGE_BODY } from '../http/body-config.js';
import { Name } from '../http/id.decorator.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import {
  claimedStepsSchema,
  cursorBody,
  leaseQuery,
  stepBody,
  storedStepSchema,
  waitBody,
  waitedSchema,
} from './step-schemas.js';
import { OpenQueues } from './open-queues.js';
import { TaskId } from './task-id.decorator.js';

const LEASE_PROBLEMS = ['invalid-id', 'unknown-queue', 'lease-lost', 'task-cancelled'] as const;
const STEP_PROBLEMS = [...LEASE_PROBLEMS, ...BODY_PROBLEMS, 'too-many-steps', 'steps-too-large'] as const;

@ApiTags('claims')
@Controller('v1/queues/:queue/tasks/:id')
export class ClaimStepsController {
  constructor(private readonly queues: OpenQueues) {}

  @Get('steps')
  @ApiOperation({
    summary: 'Read the steps of a claimed task',
    description:
      'Returns the results that the attempts of the task have stored, and the position of a loop. A program ' +
      'skips these steps.',
  })
  @Answers(claimedStepsSchema, 'The stored steps, or none before the first.')
  @Problems(...LEASE_PROBLEMS, 'invalid-query')
  async readSteps(
    @Name('queue') queueName: string,
    @TaskId() id: string,
    @Query({ schema: leaseQuery }) { lease }: z.infer<typeof leaseQuery>,
  ): Promise<z.infer<typeof claimedStepsSchema>> {
    const { steps, cursor } = await (await this.queues.knownClaims(queueName)).steps(id, lease);
    return { items: [...steps], ...(cursor !== undefined && { cursor }) };
  }

  @Post('steps')
  @RouteConfig(LARGE_BODY)
  @ApiOperation({
    summary: 'Store the result of a step',
    description:
      'A step that is already stored keeps its result, and the answer has this result. So a repeated request ' +
      'changes nothing.',
  })
  @Answers(storedStepSchema, 'The stored result.')
  @Problems(...STEP_PROBLEMS)
  async storeStep(
    @Name('queue') queueName: string,
    @TaskId() id: string,
    @Body({ schema: stepBody }) { lease, name, result }: z.infer<typeof stepBody>,
  ): Promise<z.infer<typeof storedStepSchema>> {
    const claims = await this.queues.knownClaims(queueName);
    const stored = await claims.storeStep(id, lease, name, result);
    return { name, ...(stored !== undefined && { result: stored }) };
  }

  @Put('cursor')
  @RouteConfig(LARGE_BODY)
  @ApiOperation({
    summary: 'Store the position of a loop of a task',
    description: 'Replaces the last cursor.',
  })
  @AnswersNothing('The progress is stored.')
  @Problems(...STEP_PROBLEMS)
  async storeCursor(
    @Name('queue') queueName: string,
    @TaskId() id: string,
    @Body({ schema: cursorBody }) { lease, cursor }: z.infer<typeof cursorBody>,
  ): Promise<void> {
    await (await this.queues.knownClaims(queueName)).setCursor(id, lease, cursor);
  }

  @Post('wait')
  @ApiOperation({
    summary: 'Wait for an event of a task',
    description:
      'Takes an event that was delivered to the task, and remembers it as the result of the step. Without one the lease ends with the ' +
      'answer, and the task can be claimed again when the event comes, or when the wait has lasted for `timeoutMs`. A repeated request ' +
      'gets the same event, or `lease-lost` after the end of the lease.',
  })
  @Answers(waitedSchema, 'The event, or that the lease has ended.')
  @Problems(...STEP_PROBLEMS, 'event-timeout')
  async waitForEvent(
    @Name('queue') queueName: string,
    @TaskId() id: string,
    @Body({ schema: waitBody }) { lease, ...wait }: z.infer<typeof waitBody>,
  ): Promise<z.infer<typeof waitedSchema>> {
    const taken = await (await this.queues.knownClaims(queueName)).waitFor(id, lease, wait);
    if (!taken) return { isTaken: false };
    return { isTaken: true, ...(taken.payload !== undefined && { payload: taken.payload }) };
  }
}
