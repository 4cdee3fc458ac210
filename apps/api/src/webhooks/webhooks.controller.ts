import { noteTask, taskHeaders } from '@mortise/app-common/log';
import { Body, Controller, HttpCode, HttpStatus, Post } from '@nestjs/common';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import { Queue } from '@mortise/queues';
import { InjectQueue } from '@mortise/queues/nestjs';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { z } from 'zod';

import { LARGE_BODY } from '../http/body-config.js';
import { IdempotencyKey, TakesIdempotencyKey } from '../http/idempotency-key.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { Problem } from '../problems/problem.js';
import { refuseReuse } from '../queues/misuse.js';
import type { WebhookTasks } from './index.js';
import { urlRefusal, WEBHOOK_ATTEMPTS, WEBHOOK_QUEUE } from './index.js';
import { webhookBody, webhookSchema } from './schemas.js';

@ApiTags('webhooks')
@Controller('v1/webhooks')
export class WebhooksController {
  constructor(@InjectQueue(WEBHOOK_QUEUE) private readonly webhooks: Queue<WebhookTasks>) {}

  @Post()
  @HttpCode(HttpStatus.ACCEPTED)
  @RouteConfig(LARGE_BODY)
  @ApiOperation({
    summary: 'Post an event to a URL',
    description:
      'A worker posts `{"type", "data"}` with the signature of Standard Webhooks, at most 20 times within nine hours. Receivers may get an event twice: `webhook-id` is the id of the task.',
  })
  @TakesIdempotencyKey('Identifies the event: the same event again is delivered once.')
  @ApiResponse({ status: 202, standardSchema: webhookSchema, description: 'The event will be posted.' })
  @Problems(
    ...BODY_PROBLEMS,
    'invalid-idempotency-key',
    'invalid-payload',
    'payload-too-large',
    'request-reused',
    'url-not-allowed',
    'queue-full',
  )
  async postWebhook(
    @Body({ schema: webhookBody }) { url, type, data }: z.infer<typeof webhookBody>,
    @IdempotencyKey() id: string | undefined,
  ): Promise<z.infer<typeof webhookSchema>> {
    const refusal = urlRefusal(url);
    if (refusal !== undefined) throw new Problem('url-not-allowed', refusal);
    const options = { attempts: WEBHOOK_ATTEMPTS, ...taskHeaders(), ...(id !== undefined && { id }) };
    const task = await this.webhooks
      .enqueue('webhook.deliver', { url, type, data }, options)
      .catch(refuseReuse(id));
    noteTask(task.id);
    return { queue: WEBHOOK_QUEUE, taskId: task.id };
  }
}
