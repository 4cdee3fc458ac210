/** The routes of queues. */
import type { QueueOptions } from '@mortise/queues';
import { queueView, settingsView, storedEvents, taskTimes } from '@mortise/queues/admin';
import { requireBoolean } from '@mortise/redis';

import type { Routes } from '../http/router.js';
import { done, DONE } from '../http/router.js';
import { membersOf, pageLimitOf, present, queryOf } from './given.js';
import type { OpenQueues } from './open-queues.js';
import { limitsOf } from './queue-limits.js';

const SETTINGS = [
  'priorities',
  'shards',
  'isPaused',
  'concurrency',
  'rate',
  'groups',
  'maxTasks',
  'keepEvents',
];

export function queueRoutes(queues: OpenQueues): Routes {
  return {
    'GET queues': async ({ query }) => {
      const { limit, cursor } = queryOf(query, ['limit', 'cursor']);
      return done(await queues.page({ limit: pageLimitOf(limit), cursor }));
    },
    'GET queues/:queue/depths': async ({ params }) => done(await queues.depths(params['queue']!)),
    'GET queues/:queue': async ({ params }) => done(await queues.use(params['queue']!, queueView)),
    'PUT queues/:queue': async ({ params, body }) => {
      const given = membersOf(body, SETTINGS);
      const { priorities, shards, isPaused } = given;
      if (isPaused !== undefined) requireBoolean('isPaused', isPaused);
      const queue = queues.insist(params['queue']!, present({ priorities, shards }) as QueueOptions);
      await queue.configure(limitsOf(given));
      if (isPaused !== undefined) await (isPaused ? queue.pause() : queue.resume());
      return done(settingsView(queue.name, await queue.settings()));
    },
    'DELETE queues/:queue': async ({ params, query }) => {
      const { isForced } = queryOf(query, ['isForced']);
      await queues.obliterate(params['queue']!, isForced === 'true');
      return DONE;
    },
    'GET queues/:queue/task-names': async ({ params }) => {
      const names = await queues.use(params['queue']!, (queue) => queue.names());
      return done({ items: names.map((name) => ({ name })) });
    },
    'GET queues/:queue/times': async ({ params, right }) => {
      const events = await queues.use(params['queue']!, (queue) =>
        storedEvents(queue, { isReadOnly: right === 'read' }),
      );
      return done({ hasEvents: events !== null, ...taskTimes(events ?? []) });
    },
    'POST queues/:queue/pause': async ({ params }) => {
      await queues.use(params['queue']!, (queue) => queue.pause());
      return DONE;
    },
    'POST queues/:queue/resume': async ({ params }) => {
      await queues.use(params['queue']!, (queue) => queue.resume());
      return DONE;
    },
    'POST queues/:queue/drain': async ({ params, body }) => {
      const { isAll = false } = membersOf(body, ['isAll']);
      const scheduled = requireBoolean('isAll', isAll);
      return done({ tasks: await queues.use(params['queue']!, (queue) => queue.drain({ scheduled })) });
    },
  };
}
