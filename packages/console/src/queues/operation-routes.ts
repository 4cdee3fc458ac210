/** The routes of bulk operations. */
import type { BulkOperation, BulkOperations, BulkRequest } from '@mortise/queues/admin';

import { Problem } from '../http/problem.js';
import type { Call, Routes } from '../http/router.js';
import { done } from '../http/router.js';
import { membersOf } from './given.js';
import type { OpenQueues } from './open-queues.js';
import type { TaskViews } from './task-views.js';

const MEMBERS = ['action', 'state', 'name', 'field', 'equals', 'delayMs', 'runAt', 'priority', 'limit'];

/** The operations check the values. Throws ERR_INVALID_ARG, and the problem `invalid-body`. */
function requestOf(body: Call['body'], views: TaskViews): BulkRequest {
  const given = membersOf(body, MEMBERS);
  const { field, equals } = given;
  if (typeof field === 'string' && views.hides(field, equals))
    throw new Problem('invalid-body', 'field is redacted');
  return given as unknown as BulkRequest;
}

/** An operation on a queue that the console shows. Throws the problem `unknown-operation`. */
export async function shownOperation(
  operations: BulkOperations,
  queues: OpenQueues,
  id: string,
): Promise<BulkOperation> {
  const operation = await operations.get(id);
  if (!operation || !queues.allows(operation.queue)) throw new Problem('unknown-operation', '', { id });
  return operation;
}

/** @param isClosed Whether the console is closed: it would not wait for a new operation. */
export function operationRoutes(
  operations: BulkOperations,
  queues: OpenQueues,
  views: TaskViews,
  isClosed: () => boolean,
): Routes {
  return {
    'POST queues/:queue/bulk-operations': async ({ params, body }) => {
      const request = requestOf(body, views);
      if (isClosed()) throw new Problem('shutting-down');
      const operation = await queues.use(params['queue']!, (queue) => operations.start(queue, request));
      return { status: 202, body: operation };
    },
    'GET operations/:id': async ({ params }) => done(await shownOperation(operations, queues, params['id']!)),
  };
}
