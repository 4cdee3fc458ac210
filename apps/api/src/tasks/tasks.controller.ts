import { Controller, Get, Param } from '@nestjs/common';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';

import { Problems } from '../http/problems.decorator.js';
import { idSchema } from '../market/schemas.js';
import { Problem } from '../problems/problem.js';
import { MailQueue } from './mail-queue.js';
import { queueSchema, taskSchema } from './schemas.js';

@ApiTags('tasks')
@Controller('v1')
export class TasksController {
  constructor(private readonly mails: MailQueue) {}

  @Get('tasks/:id')
  @ApiOperation({
    summary: 'Read the state of a task',
    description: 'Finished tasks are kept for a while only.',
  })
  @ApiResponse({ status: 200, standardSchema: taskSchema, description: 'The task.' })
  @Problems('invalid-id', 'unknown-task')
  async task(@Param('id', { schema: idSchema }) id: string): Promise<z.infer<typeof taskSchema>> {
    const task = await this.mails.get(id);
    if (!task) throw new Problem('unknown-task', `there is no task "${id}"`, { taskId: id });
    return taskSchema.parse({ ...task, queue: this.mails.name });
  }

  @Get('queues/:queue')
  @ApiOperation({ summary: 'Count the tasks of a queue by state' })
  @ApiResponse({ status: 200, standardSchema: queueSchema, description: 'The counts.' })
  @Problems('invalid-id', 'unknown-queue')
  async queue(@Param('queue', { schema: idSchema }) name: string): Promise<z.infer<typeof queueSchema>> {
    if (name !== this.mails.name)
      throw new Problem('unknown-queue', `there is no queue "${name}"`, { queue: name });
    return { name, counts: await this.mails.counts() };
  }
}
