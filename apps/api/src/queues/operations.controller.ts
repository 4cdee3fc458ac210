import { Body, Controller, Get, HttpCode, HttpStatus, Post, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';

import { Answers } from '../http/answers.js';
import { Id, Name } from '../http/id.decorator.js';
import { IdempotencyKey, TakesIdempotencyKey } from '../http/idempotency-key.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { headerRefs } from '../http/response-headers.js';
import { Problem } from '../problems/problem.js';
import { operationBody, operationSchema } from './operation-schemas.js';
import type { Operation } from './operation-schemas.js';
import { refuseMisuse, refuseReuse } from './misuse.js';
import { Operations } from './operations.js';
import { Redaction } from '../callers/redaction.js';

@ApiTags('tasks')
@Controller('v1')
export class OperationsController {
  constructor(
    private readonly operations: Operations,
    private readonly redaction: Redaction,
  ) {}

  @Post('queues/:queue/bulk-operations')
  @HttpCode(HttpStatus.ACCEPTED)
  @ApiOperation({
    summary: 'Act on all tasks that match',
    description:
      'Retries, promotes, cancels, removes, reschedules or reprioritizes the tasks of a state, in the ' +
      'background. A name and a member of the payload narrow the choice. `Location` is the address of the ' +
      'progress. A task that reaches the state meanwhile may be left out.',
  })
  @TakesIdempotencyKey('Becomes the id of the operation: the same request again starts nothing.')
  @ApiResponse({
    status: 202,
    standardSchema: operationSchema,
    description: 'The operation runs, or has run.',
    headers: headerRefs(['Location']),
  })
  @Problems(
    'invalid-id',
    ...BODY_PROBLEMS,
    'invalid-idempotency-key',
    'request-reused',
    'run-at-past',
    'unknown-queue',
    'too-many-operations',
  )
  async startOperation(
    @Name('queue') queue: string,
    @Body({ schema: operationBody }) body: z.infer<typeof operationBody>,
    @IdempotencyKey() key: string | undefined,
    @Req() { principal }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Operation> {
    this.redaction.requireVisible(body, principal, 'invalid-body');
    const operation = await this.operations
      .start(queue, key, body)
      .catch(refuseMisuse)
      .catch(refuseReuse(key));
    reply.header('location', `/v1/operations/${operation.id}`);
    return operation;
  }

  @Get('operations/:id')
  @ApiOperation({
    summary: 'Look at an operation on tasks',
    description: 'An operation can be read for a day after its start.',
  })
  @Answers(operationSchema, 'The progress of the operation.')
  @Problems('invalid-id', 'unknown-operation')
  async operation(@Id('id') id: string): Promise<Operation> {
    const operation = await this.operations.find(id);
    if (!operation) throw new Problem('unknown-operation', undefined, { id });
    return operation;
  }
}
