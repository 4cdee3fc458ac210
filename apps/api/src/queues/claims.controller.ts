/** Lets an HTTP client work as a worker. */
import { Body, Controller, Post, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';

import { Answers, AnswersNothing } from '../http/answers.js';
import type { BodyConfig } from '../http/body-config.js';
import { Waits } from '../http/deadline.interceptor.js';
import { Name } from '../http/id.decorator.js';
import { OpenWaits } from '../limits/open-waits.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { waitOf } from '../http/wait-of.js';
import {
  claimBody,
  claimsSchema,
  completeBody,
  failBody,
  giveBackBody,
  heartbeatBody,
  logBody,
  progressBody,
} from './claim-schemas.js';
import { OpenQueues } from './open-queues.js';
import { namePayloadCodecs } from './payload-codecs.js';
import { TaskId } from './task-id.decorator.js';

const LEASE_PROBLEMS = [
  'invalid-id',
  ...BODY_PROBLEMS,
  'unknown-queue',
  'lease-lost',
  'task-cancelled',
] as const;

/** A result of 262,144 bytes, and what JSON adds to it. */
const RESULT: BodyConfig = { maxBodyBytes: 524_288 };

/** The lease ends with the first request. */
const REPEATED =
  'A repeated request gets `lease-lost`. After a lost answer, read the state of the task to learn whether ' +
  'the first request succeeded.';

@ApiTags('claims')
@Controller('v1/queues/:queue')
export class ClaimsController {
  constructor(
    private readonly queues: OpenQueues,
    private readonly waits: OpenWaits,
  ) {}

  @Post('claims')
  @Waits(waitOf)
  @ApiOperation({
    summary: 'Take tasks, or wait for them',
    description:
      'Tasks come in the order in which workers take them, shared with programs that use @mortise/queues. ' +
      'Complete or fail each task before its lease ends, or move the end by `heartbeat`. Otherwise the task ' +
      'runs again. A client that closes the connection waits no longer, and gets no task. After a lost answer, ' +
      'the tasks run again when their leases end; a repeated request gets other tasks. A payload that its ' +
      'producer has encoded comes as it is stored, `{ "$codec", "data" }`. The header `Payload-Codecs` names ' +
      'the codecs.',
  })
  @Answers(claimsSchema, 'The tasks, or none if none came in time.', 'Payload-Codecs')
  @Problems('invalid-id', ...BODY_PROBLEMS, 'too-many-waits', 'quota-exceeded', 'shutting-down')
  async claimTasks(
    @Name('queue') queueName: string,
    @Body({ schema: claimBody }) body: z.infer<typeof claimBody>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof claimsSchema>> {
    const claims = this.queues.claims(queueName);
    const items = await this.waits.run(reply, body.waitMs, async (signal) => {
      const tasks = await claims.claim({ ...body, signal });
      if (signal.aborted) await Promise.allSettled(tasks.map(({ id, lease }) => claims.giveBack(id, lease)));
      signal.throwIfAborted();
      return tasks;
    });
    namePayloadCodecs(
      reply,
      items.map(({ payload }) => payload),
    );
    return { items };
  }

  @Post('tasks/:id/heartbeat')
  @ApiOperation({ summary: 'Move the end of a lease', description: 'Sets the end to `leaseMs` from now.' })
  @AnswersNothing('The lease lasts until then.')
  @Problems(...LEASE_PROBLEMS)
  async heartbeat(
    @Name('queue') queueName: string,
    @TaskId() id: string,
    @Body({ schema: heartbeatBody }) { lease, leaseMs }: z.infer<typeof heartbeatBody>,
  ): Promise<void> {
    await (await this.queues.knownClaims(queueName)).heartbeat(id, lease, leaseMs);
  }

  @Post('tasks/:id/complete')
  @RouteConfig(RESULT)
  @ApiOperation({
    summary: 'Complete a task',
    description: REPEATED,
  })
  @AnswersNothing('The task has succeeded.')
  @Problems(...LEASE_PROBLEMS)
  async completeTask(
    @Name('queue') queueName: string,
    @TaskId() id: string,
    @Body({ schema: completeBody }) { lease, result }: z.infer<typeof completeBody>,
  ): Promise<void> {
    await (await this.queues.knownClaims(queueName)).complete(id, lease, result);
  }

  @Post('tasks/:id/fail')
  @ApiOperation({
    summary: 'Fail an attempt',
    description: `The task runs again after its backoff; it is dead when it has no attempts left. ${REPEATED}`,
  })
  @AnswersNothing('The task waits for its next attempt, or is dead.')
  @Problems(...LEASE_PROBLEMS)
  async failTask(
    @Name('queue') queueName: string,
    @TaskId() id: string,
    @Body({ schema: failBody }) { lease, error, isRetried, delayMs }: z.infer<typeof failBody>,
  ): Promise<void> {
    const options = { error, retry: isRetried, ...(delayMs !== undefined && { delayMs }) };
    await (await this.queues.knownClaims(queueName)).fail(id, lease, options);
  }

  @Post('tasks/:id/give-back')
  @ApiOperation({
    summary: 'Leave a task to another worker',
    description: `The attempt does not count. ${REPEATED}`,
  })
  @AnswersNothing('Another worker gets the task.')
  @Problems(...LEASE_PROBLEMS)
  async giveTaskBack(
    @Name('queue') queueName: string,
    @TaskId() id: string,
    @Body({ schema: giveBackBody }) { lease, delayMs }: z.infer<typeof giveBackBody>,
  ): Promise<void> {
    await (await this.queues.knownClaims(queueName)).giveBack(id, lease, { delayMs });
  }

  @Post('tasks/:id/progress')
  @ApiOperation({ summary: 'Report the progress of a task', description: 'Replaces the last progress.' })
  @AnswersNothing('The progress is stored.')
  @Problems(...LEASE_PROBLEMS)
  async tellProgress(
    @Name('queue') queueName: string,
    @TaskId() id: string,
    @Body({ schema: progressBody }) { lease, progress }: z.infer<typeof progressBody>,
  ): Promise<void> {
    await (await this.queues.knownClaims(queueName)).progress(id, lease, progress);
  }

  @Post('tasks/:id/log')
  @ApiOperation({
    summary: 'Log lines with a task',
    description: 'The last 100 lines of each task are kept.',
  })
  @AnswersNothing('The lines are stored.')
  @Problems(...LEASE_PROBLEMS)
  async logLine(
    @Name('queue') queueName: string,
    @TaskId() id: string,
    @Body({ schema: logBody }) { lease, text }: z.infer<typeof logBody>,
  ): Promise<void> {
    await (await this.queues.knownClaims(queueName)).log(id, lease, text);
  }
}
