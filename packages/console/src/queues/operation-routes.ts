/** The routes of bulk operations. */
import type { Routes } from '../http/router.js';
import { done } from '../http/router.js';
import { wishOf } from './operation-wish.js';
import type { Operations } from './operations.js';
import type { TaskViews } from './task-views.js';

export function operationRoutes(operations: Operations, views: TaskViews): Routes {
  return {
    'POST queues/:queue/bulk-operations': async ({ params, body }) => {
      const wish = wishOf(params['queue']!, body, views);
      return { status: 202, body: await operations.start(wish) };
    },
    'GET operations/:id': async ({ params }) => done(await operations.find(params['id']!)),
  };
}
