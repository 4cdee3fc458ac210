import { z } from 'zod';

const instant = z
  .int()
  .min(0)
  .meta({ examples: [1_795_176_000_000] });

export const taskSchema = z
  .object({
    id: z.string(),
    queue: z.string().meta({ examples: ['mail'] }),
    name: z.string().meta({ examples: ['mail.sold'] }),
    state: z.enum(['scheduled', 'ready', 'active', 'retrying', 'succeeded', 'dead']),
    priority: z.string().meta({ examples: ['high'] }),
    attempt: z.int().min(0).meta({ description: 'the attempt that runs or ran last; 0: none yet' }),
    attempts: z.int().min(1).meta({ description: 'how many it has altogether' }),
    enqueuedAt: instant,
    runAt: instant.optional(),
    leaseUntil: instant.optional(),
    finishedAt: instant.optional(),
    error: z.string().optional().meta({ description: 'why the last attempt failed' }),
  })
  .meta({ id: 'Task', description: 'A task and its state. Instants are ms since the epoch.' });

const count = z.int().min(0);

export const queueSchema = z
  .object({
    name: z.string().meta({ examples: ['mail'] }),
    counts: z.object({
      scheduled: count,
      ready: count,
      active: count,
      retrying: count,
      succeeded: count,
      dead: count,
    }),
  })
  .meta({ id: 'Queue', description: 'How many tasks are in each state, at one instant.' });
