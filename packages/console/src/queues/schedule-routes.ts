/** The routes of schedules. */
import type { ScheduledTaskOptions, ScheduleRule } from '@mortise/queues';

import { Problem } from '../http/problem.js';
import type { Routes } from '../http/router.js';
import { done, DONE } from '../http/router.js';
import { membersOf, present } from './given.js';
import type { OpenQueues } from './open-queues.js';
import { TASK_MEMBERS } from './task-routes.js';

const RULE = ['cron', 'timezone', 'everyMs', 'startAt', 'until', 'maxRuns', 'missed', 'overlap'];

export function scheduleRoutes(queues: OpenQueues): Routes {
  return {
    'GET queues/:queue/schedules': async ({ params }) => {
      const schedules = await queues.use(params['queue']!, (queue) => queue.schedules());
      const items = schedules.map(({ rule, payload: _payload, options: _options, ...others }) => ({
        ...rule,
        ...others,
      }));
      return done({ items });
    },
    'PUT queues/:queue/schedules/:key': async ({ params, body }) => {
      const { name, payload, ...given } = membersOf(body, [...RULE, ...TASK_MEMBERS]);
      const isOfRule = ([member]: [string, unknown]): boolean => RULE.includes(member);
      const members = Object.entries(present(given));
      const rule = Object.fromEntries(members.filter(isOfRule)) as unknown as ScheduleRule;
      const options = Object.fromEntries(members.filter((member) => !isOfRule(member)));
      const stored = await queues.found(params['queue']!, (queue) =>
        queue.schedule(params['key']!, rule, name as string, payload, options as ScheduledTaskOptions),
      );
      return done(stored);
    },
    'DELETE queues/:queue/schedules/:key': async ({ params: { queue: name, key } }) => {
      const wasThere = await queues.use(name!, (queue) => queue.unschedule(key!));
      if (!wasThere)
        throw new Problem('unknown-schedule', `there is no schedule "${key}"`, { queue: name, key });
      return DONE;
    },
  };
}
