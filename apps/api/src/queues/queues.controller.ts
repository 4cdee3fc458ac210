import { Body, Controller, Delete, Get, Post, Put, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { ConfigureOptions, QueueDepths, QueueLimits } from '@mortise/queues';
import { queueView, settingsView } from '@mortise/queues/admin';
import type { QueuePage } from '@mortise/queues/admin';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';

import { Answers, AnswersNothing } from '../http/answers.js';
import { Waits } from '../http/deadline.interceptor.js';
import { IfMatch, TakesIfMatch } from '../http/entity-tags.js';
import { Name } from '../http/id.decorator.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { ofMany } from '../http/wait-of.js';
import { Problem } from '../problems/problem.js';
import { refuseMisuse } from './misuse.js';
import { OpenQueues } from './open-queues.js';
import {
  bulkSchema,
  cleanBody,
  depthsSchema,
  drainBody,
  obliterateQuery,
  queueBody,
  queueSchema,
  queuesPage,
  queuesQuery,
  retryAllBody,
  settingsSchema,
  taskNamesSchema,
} from './schemas.js';
import { requireMatch, tagOf } from './settings-tag.js';

type Bulk = z.infer<typeof bulkSchema>;
type Settings = z.infer<typeof settingsSchema>;

@ApiTags('queues')
@Controller('v1/queues')
export class QueuesController {
  constructor(private readonly queues: OpenQueues) {}

  @Get()
  @ApiOperation({
    summary: 'List the queues',
    description: 'A queue that is created or removed between two pages shifts no other one.',
  })
  @Answers(queuesPage, 'A page of queues.')
  @Problems('invalid-query', 'invalid-cursor')
  listQueues(@Query({ schema: queuesQuery }) query: z.infer<typeof queuesQuery>): Promise<QueuePage> {
    return this.queues.page(query).catch(refuseMisuse);
  }

  @Get(':queue')
  @ApiOperation({
    summary: 'Look at a queue',
    description:
      'Returns the settings, and the number of tasks in each state at one instant. The ETag covers only the ' +
      'settings.',
  })
  @Answers(queueSchema, 'The queue.', 'ETag')
  @Problems('invalid-id', 'unknown-queue')
  async queue(
    @Name('queue') name: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof queueSchema>> {
    return this.queues.use(name, async (queue) => {
      const { counts, load, headAgeMs, ...settings } = await queueView(queue);
      reply.header('etag', tagOf(settings));
      return { ...settings, counts, load, headAgeMs };
    });
  }

  @Put(':queue')
  @ApiOperation({
    summary: 'Change the settings of a queue',
    description:
      'Creates a missing queue. The creation fixes priorities and shards; later, other values are refused. The ' +
      'settings are stored one after the other, not in one step.',
  })
  @TakesIfMatch(
    'The ETag of the settings that the caller has seen. If the settings have changed since, nothing is ' +
      'changed. `*`: the queue must exist.',
  )
  @Answers(settingsSchema, 'The settings now.', 'ETag')
  @Problems(
    'invalid-id',
    ...BODY_PROBLEMS,
    'priorities-mismatch',
    'shards-mismatch',
    'invalid-if-match',
    'settings-changed',
  )
  async putQueue(
    @Name('queue') name: string,
    @Body({ schema: queueBody }) body: z.infer<typeof queueBody>,
    @IfMatch() ifMatch: readonly string[] | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Settings> {
    const { priorities, shards, isPaused } = body;
    // A missing queue matches no ETag.
    if (ifMatch !== undefined && !(await this.queues.isThere(name))) throw new Problem('settings-changed');
    const queue = await this.queues.insist(name, {
      ...(priorities && { priorities }),
      ...(shards !== undefined && { shards }),
    });
    const check: ConfigureOptions['check'] = (stored) => requireMatch(ifMatch!, settingsView(name, stored));
    await queue.configure(limitsOf(body), ifMatch === undefined ? {} : { check });
    if (isPaused !== undefined) await (isPaused ? queue.pause() : queue.resume());
    const settings = settingsView(name, await queue.settings());
    reply.header('etag', tagOf(settings));
    return settings;
  }

  @Delete(':queue')
  @Waits(ofMany)
  @ApiOperation({
    summary: 'Remove a queue',
    description:
      'Removes the queue with its tasks, settings and schedules. The request is refused while tasks are active ' +
      'or workers wait, unless `isForced`; then active tasks are cancelled. A repeated request continues where ' +
      'a failed one stopped.',
  })
  @AnswersNothing('The queue is removed.')
  @Problems('invalid-id', 'invalid-query', 'unknown-queue', 'queue-in-use')
  async removeQueue(
    @Name('queue') name: string,
    @Query({ schema: obliterateQuery }) { isForced }: z.infer<typeof obliterateQuery>,
  ): Promise<void> {
    await this.queues.obliterate(name, { force: isForced });
  }

  @Get(':queue/task-names')
  @ApiOperation({
    summary: 'List the names of tasks that live workers handle',
    description:
      'Lists the first 1,000 names of each worker. A name stays for 150 s after the last worker that handles ' +
      'it. Claims are not listed.',
  })
  @Answers(taskNamesSchema, 'The names.')
  @Problems('invalid-id', 'unknown-queue')
  async taskNames(@Name('queue') queueName: string): Promise<z.infer<typeof taskNamesSchema>> {
    const names = await this.queues.use(queueName, (queue) => queue.names());
    return { items: names.map((name) => ({ name })) };
  }

  @Get(':queue/depths')
  @ApiOperation({
    summary: 'Count the waiting tasks of a queue by priority and by time',
    description: 'Counts alone: the number of tasks does not matter.',
  })
  @Answers(depthsSchema, 'The counts.')
  @Problems('invalid-id', 'unknown-queue')
  depths(@Name('queue') name: string): Promise<QueueDepths> {
    return this.queues.depths(name);
  }

  @Post(':queue/pause')
  @ApiOperation({
    summary: 'Pause a queue',
    description: 'No worker fetches tasks until the queue is resumed. Active tasks go on.',
  })
  @AnswersNothing('The queue is paused.')
  @Problems('invalid-id', 'unknown-queue')
  async pauseQueue(@Name('queue') name: string): Promise<void> {
    await this.queues.use(name, (queue) => queue.pause());
  }

  @Post(':queue/resume')
  @ApiOperation({ summary: 'Resume a queue' })
  @AnswersNothing('The queue is not paused.')
  @Problems('invalid-id', 'unknown-queue')
  async resumeQueue(@Name('queue') name: string): Promise<void> {
    await this.queues.use(name, (queue) => queue.resume());
  }

  @Post(':queue/drain')
  @Waits(ofMany)
  @ApiOperation({
    summary: 'Remove ready tasks',
    description: 'Removes all ready tasks; active tasks go on. A repeated request finds none.',
  })
  @Answers(bulkSchema, 'The number of removed tasks.')
  @Problems('invalid-id', 'unknown-queue', ...BODY_PROBLEMS)
  async drainQueue(
    @Name('queue') name: string,
    @Body({ schema: drainBody }) { isAll }: z.infer<typeof drainBody>,
  ): Promise<Bulk> {
    return this.queues.use(name, async (queue) => ({ tasks: await queue.drain({ scheduled: isAll }) }));
  }

  @Post(':queue/clean')
  @Waits(ofMany)
  @ApiOperation({
    summary: 'Remove tasks that have ended',
    description:
      'Removes the oldest tasks first. If `limit` tasks were removed, there may be more: a repeated request ' +
      'continues.',
  })
  @Answers(bulkSchema, 'The number of removed tasks.')
  @Problems('invalid-id', 'unknown-queue', ...BODY_PROBLEMS)
  async cleanQueue(
    @Name('queue') name: string,
    @Body({ schema: cleanBody }) { state, ...options }: z.infer<typeof cleanBody>,
  ): Promise<Bulk> {
    return this.queues.use(name, async (queue) => ({ tasks: await queue.clean(state, options) }));
  }

  @Post(':queue/retry')
  @Waits(ofMany)
  @ApiOperation({
    summary: 'Retry dead or cancelled tasks',
    description:
      'Retries the latest tasks first. If `limit` tasks were retried, there may be more: a repeated request ' +
      'continues.',
  })
  @Answers(bulkSchema, 'The number of tasks that are due now.')
  @Problems('invalid-id', 'unknown-queue', ...BODY_PROBLEMS)
  async retryTasks(
    @Name('queue') queueName: string,
    @Body({ schema: retryAllBody }) { state, name, limit }: z.infer<typeof retryAllBody>,
  ): Promise<Bulk> {
    const options = { state, limit, ...(name !== undefined && { name }) };
    return this.queues.use(queueName, async (queue) => ({ tasks: await queue.retryAll(options) }));
  }
}

function limitsOf({
  concurrency,
  rate,
  groups,
  maxTasks,
  keepEvents,
}: z.infer<typeof queueBody>): QueueLimits {
  const { isOrdered, ...ofGroups } = groups ?? {};
  const limits = {
    concurrency,
    rate,
    maxTasks,
    keepEvents,
    groups: { ...ofGroups, ...(isOrdered !== undefined && { ordered: isOrdered }) },
  };
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined)) as QueueLimits;
}
