import { Body, Controller, HttpStatus, Post, Res } from '@nestjs/common';
import type { FlowTask } from '@mortise/queues';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';

import { Answers, Creates } from '../http/answers.js';
import { LARGE_BODY } from '../http/body-config.js';
import { Waits } from '../http/deadline.interceptor.js';
import { Name } from '../http/id.decorator.js';
import { IdempotencyKey, TakesIdempotencyKey } from '../http/idempotency-key.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { senderIdOf } from '../http/sender-id.js';
import { ofMany } from '../http/wait-of.js';
import { Quotas } from '../limits/quotas.js';
import { cancelFlowBody, cancelledFlowSchema, enqueuedFlowSchema, flowBody } from './flow-schemas.js';
import { refuseMisuse, refuseReuse } from './misuse.js';
import { OpenQueues } from './open-queues.js';
import { requestHeadersOf } from './request-headers.js';

type Given = z.infer<typeof flowBody>['tasks'][number];

interface Node {
  readonly task: FlowTask;
  readonly children: Node[];
}

interface Ids {
  readonly queue: string;
  readonly id: string;
  readonly children: readonly Ids[];
}

@ApiTags('tasks')
@Controller('v1/queues/:queue/flows')
export class FlowsController {
  constructor(
    private readonly queues: OpenQueues,
    private readonly quotas: Quotas,
  ) {}

  @Post()
  @RouteConfig(LARGE_BODY)
  @ApiOperation({
    summary: 'Enqueue a task and its children',
    description:
      'A task runs when all its children have ended; they may be in other queues. Up to 1,000 tasks and 10 ' +
      'levels. Once Redis has accepted the first task, the whole flow will be stored.',
  })
  @TakesIdempotencyKey('Becomes the id of the first task: the same request again stores nothing.')
  @Creates(enqueuedFlowSchema, 'The flow is stored.', 'The flow was there before.')
  @Problems(
    'invalid-id',
    ...BODY_PROBLEMS,
    'invalid-idempotency-key',
    'invalid-payload',
    'invalid-flow',
    'quota-exceeded',
    'run-at-past',
    'task-conflict',
    'request-reused',
    'payload-too-large',
    'queue-full',
  )
  async enqueueFlow(
    @Name('queue') queueName: string,
    @Body({ schema: flowBody }) { tasks }: z.infer<typeof flowBody>,
    @IdempotencyKey() key: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof enqueuedFlowSchema>> {
    const rootId = senderIdOf(tasks[0]!.id, key, '/tasks/0/id');
    await this.quotas.requireTasks(tasks.length);
    const others = new Set(tasks.flatMap(({ queue }) => queue ?? []));
    await Promise.all([...others].map((name) => this.queues.requireRoomFor(name)));
    const nodes: Node[] = [];
    for (const [index, given] of tasks.entries()) {
      const children: Node[] = [];
      const task = taskOf(index === 0 ? { ...given, ...rootId } : given, children);
      nodes.push({ task, children });
      if (given.parent !== undefined) nodes[given.parent]!.children.push(nodes[index]!);
    }
    const flow = await this.queues
      .found(queueName, (queue) => queue.enqueueFlow(nodes[0]!.task).catch(refuseMisuse))
      .catch(refuseReuse(key));
    reply.status(flow.isDuplicate ? HttpStatus.OK : HttpStatus.CREATED);
    const ids = new Map<Node, Ids>();
    collect(nodes[0]!, flow, ids);
    const items = nodes.map((node, index) => {
      const { queue, id } = ids.get(node)!;
      const { parent } = tasks[index]!;
      return { queue, id, ...(parent !== undefined && { parent }) };
    });
    return { items, isDuplicate: flow.isDuplicate };
  }

  @Post('cancel')
  @RouteConfig(LARGE_BODY)
  @ApiOperation({
    summary: 'Cancel the tasks of a flow',
    description:
      'Cancels the tasks that have not ended, also running ones. Parents are cancelled before children, level ' +
      'by level and not in one step. If the request names a part of the flow, the other tasks go on. Repeating ' +
      'the request is safe.',
  })
  @Waits(ofMany)
  @Answers(cancelledFlowSchema, 'The tasks are cancelled.')
  @Problems('invalid-id', ...BODY_PROBLEMS, 'unknown-queue')
  async cancelFlow(
    @Name('queue') queueName: string,
    @Body({ schema: cancelFlowBody }) { items, reason }: z.infer<typeof cancelFlowBody>,
  ): Promise<z.infer<typeof cancelledFlowSchema>> {
    const isThere = new Map([[queueName, await this.queues.use(queueName, () => Promise.resolve(true))]]);
    for (const queue of new Set(items.map((item) => item.queue)))
      if (!isThere.has(queue)) isThere.set(queue, await this.queues.isThere(queue));
    const levels: (typeof items)[] = [];
    const levelOf: number[] = [];
    for (const item of items) {
      const level = item.parent === undefined ? 0 : levelOf[item.parent]! + 1;
      levelOf.push(level);
      (levels[level] ??= []).push(item);
    }
    let cancelled = 0;
    for (const level of levels) {
      const known = level.filter(({ queue }) => isThere.get(queue));
      const outcomes = await Promise.all(
        known.map(({ queue: name, id }) => this.queues.use(name, (queue) => queue.cancel(id, { reason }))),
      );
      cancelled += outcomes.filter(Boolean).length;
    }
    return { cancelled };
  }
}

/** The children are added later. */
function taskOf(given: Given, children: readonly Node[]): FlowTask {
  const { name, payload, queue, parent: _parent, onChildFailure, headers, ...rest } = given;
  const options = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  return {
    name,
    payload,
    ...(queue !== undefined && { queue }),
    options: { ...options, ...requestHeadersOf(headers) },
    ...(onChildFailure && { onChildFailure }),
    get children() {
      return children.length === 0 ? undefined : children.map(({ task }) => task);
    },
  };
}

/** The ids of a tree, by its nodes. */
function collect(node: Node, ids: Ids, all: Map<Node, Ids>): void {
  all.set(node, ids);
  for (const [index, child] of node.children.entries()) collect(child, ids.children[index]!, all);
}
