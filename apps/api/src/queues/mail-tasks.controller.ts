import { Controller, Get } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { Queue } from '@mortise/queues';
import { InjectQueue } from '@mortise/queues/nestjs';
import type { z } from 'zod';

import { Answers } from '../http/answers.js';
import { Id } from '../http/id.decorator.js';
import { Problems } from '../http/problems.decorator.js';
import { MAIL_QUEUE } from '../market/index.js';
import { Problem } from '../problems/problem.js';
import { taskSummarySchema } from './schemas.js';

/** A receipt names the task of a mail, and its reader need not know the queue. */
@ApiTags('tasks')
@Controller('v1/tasks')
export class MailTasksController {
  constructor(@InjectQueue(MAIL_QUEUE) private readonly mails: Queue) {}

  @Get(':id')
  @ApiOperation({
    summary: 'Read the state of a mail',
    description: 'Finished tasks are kept for a while only.',
  })
  @Answers(taskSummarySchema, 'The task of the mail.')
  @Problems('invalid-id', 'unknown-task')
  async mailTask(@Id('id') id: string): Promise<z.infer<typeof taskSummarySchema>> {
    const task = await this.mails.get(id);
    if (!task) throw new Problem('unknown-task', `there is no task "${id}"`, { taskId: id });
    return taskSummarySchema.parse({ ...task, queue: this.mails.name });
  }
}
