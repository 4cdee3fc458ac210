import { Body, Controller, Delete, Get, Put } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { ScheduledTaskOptions, ScheduleRule } from '@mortise/queues';
import type { z } from 'zod';

import { Answers, AnswersNothing } from '../http/answers.js';
import { LARGE_BODY } from '../http/body-config.js';
import { Name } from '../http/id.decorator.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { Problem } from '../problems/problem.js';
import { refuseMisuse } from './misuse.js';
import { OpenQueues } from './open-queues.js';
import { ScheduleKey } from './schedule-key.decorator.js';
import { scheduleBody, scheduledSchema, schedulesSchema } from './schedule-schemas.js';

@ApiTags('schedules')
@Controller('v1/queues/:queue/schedules')
export class SchedulesController {
  constructor(private readonly queues: OpenQueues) {}

  @Get()
  @ApiOperation({
    summary: 'List the schedules of a queue',
    description: 'Lists schedules without payloads.',
  })
  @Answers(schedulesSchema, 'All schedules, up to 10,000.')
  @Problems('invalid-id', 'unknown-queue')
  async listSchedules(@Name('queue') queueName: string): Promise<z.infer<typeof schedulesSchema>> {
    const schedules = await this.queues.use(queueName, (queue) => queue.schedules());
    const items = schedules.map((schedule) => {
      const { rule, payload: _, options: __, ...others } = schedule;
      return { ...rule, ...others };
    });
    return { items };
  }

  @Put(':key')
  @RouteConfig(LARGE_BODY)
  @ApiOperation({
    summary: 'Enqueue a task at each instant that a rule names',
    description:
      'Each instant runs once across all workers. At least one worker must run, or one claim must wait. A ' +
      'schedule of the same key is replaced. Storing the same schedule again changes nothing, so every program ' +
      'may do so at its start. The id of a task is `<key>@<instant>`.',
  })
  @Answers(scheduledSchema, 'The schedule is stored.')
  @Problems(
    'invalid-id',
    ...BODY_PROBLEMS,
    'invalid-payload',
    'invalid-schedule',
    'payload-too-large',
    'too-many-schedules',
  )
  async putSchedule(
    @Name('queue') queueName: string,
    @ScheduleKey() key: string,
    @Body({ schema: scheduleBody }) body: z.infer<typeof scheduleBody>,
  ): Promise<z.infer<typeof scheduledSchema>> {
    const { name, payload, cron, timezone, everyMs, startAt, until, maxRuns, missed, overlap, ...given } =
      body;
    const rule = present({
      cron,
      timezone,
      everyMs,
      startAt,
      until,
      maxRuns,
      missed,
      overlap,
    }) as ScheduleRule;
    const options = present(given) as ScheduledTaskOptions;
    return this.queues.found(queueName, (queue) =>
      queue.schedule(key, rule, name, payload, options).catch(refuseMisuse),
    );
  }

  @Delete(':key')
  @ApiOperation({
    summary: 'End a schedule',
    description: 'The tasks of the schedule stay. A repeated request gets `unknown-schedule`.',
  })
  @AnswersNothing('No schedule has this key.')
  @Problems('invalid-id', 'unknown-queue', 'unknown-schedule')
  async endSchedule(@Name('queue') queueName: string, @ScheduleKey() key: string): Promise<void> {
    const wasThere = await this.queues.use(queueName, (queue) => queue.unschedule(key));
    if (!wasThere)
      throw new Problem('unknown-schedule', `there is no schedule "${key}"`, { queue: queueName, key });
  }
}

/** Drops undefined fields. */
function present(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
