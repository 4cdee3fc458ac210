import { QueuesModule } from '@mortise/queues/nestjs';
import { Module } from '@nestjs/common';

import { WEBHOOK_QUEUE } from './index.js';
import { WebhooksController } from './webhooks.controller.js';

/** The API only enqueues webhooks: a worker delivers them. */
@Module({
  imports: [QueuesModule.forFeature({ queues: { [WEBHOOK_QUEUE]: {} } })],
  controllers: [WebhooksController],
})
export class WebhooksModule {}
