/** Requests and responses of the routes of steps and events of tasks. */
import { z } from 'zod';

import { isJsonWithin, lease } from './claim-schemas.js';
import { delayMs, payload } from './schemas.js';

const MAX_RESULT_BYTES = 262_144;
const MAX_PAYLOAD_BYTES = 65_536;
const MAX_EVENT_BYTES = 256;
const MAX_STEP_BYTES = 1_024;

const text = (most: number) =>
  z
    .string()
    .min(1)
    .refine((given) => Buffer.byteLength(given) <= most, `must have at most ${most} bytes`)
    .refine((given) => given.isWellFormed(), 'must be well-formed Unicode');
const step = text(MAX_STEP_BYTES).meta({ description: 'the name of the step', examples: ['charge'] });
const event = text(MAX_EVENT_BYTES).meta({ description: 'the name of the event', examples: ['approved'] });
const stored = z
  .unknown()
  .refine(isJsonWithin(MAX_RESULT_BYTES), `must have at most ${MAX_RESULT_BYTES} bytes as JSON`);

export const leaseQuery = z.strictObject({ lease });

const storedStep = { name: step, result: z.unknown().optional() };

export const storedStepSchema = z.object(storedStep).meta({ id: 'StoredStep' });

export const claimedStepsSchema = z
  .object({
    items: z.array(z.object(storedStep)).meta({ description: 'the steps in the order in which they ended' }),
    cursor: z.unknown().optional(),
  })
  .meta({ id: 'ClaimedSteps' });

export const stepBody = z
  .strictObject({ lease, name: step, result: stored.optional().meta({ description: 'any JSON' }) })
  .meta({ id: 'StepBody', examples: [{ lease: '0-6f3a21c4', name: 'charge', result: { receipt: 7 } }] });

export const cursorBody = z
  .strictObject({
    lease,
    cursor: stored.refine((value) => value !== undefined, 'is missing').meta({ description: 'any JSON' }),
  })
  .meta({ id: 'StepCursorBody', examples: [{ lease: '0-6f3a21c4', cursor: 41 }] });

export const waitBody = z
  .strictObject({
    lease,
    step,
    event,
    timeoutMs: delayMs.meta({ description: 'how long to wait, from the first request with this step' }),
  })
  .meta({
    id: 'WaitBody',
    examples: [{ lease: '0-6f3a21c4', step: 'approval', event: 'approved', timeoutMs: 86_400_000 }],
  });

export const waitedSchema = z
  .object({
    isTaken: z.boolean().meta({ description: 'false if the lease has ended' }),
    payload: payload.optional(),
  })
  .meta({ id: 'Waited' });

export const eventBody = z
  .strictObject({
    event,
    payload: z
      .unknown()
      .refine(isJsonWithin(MAX_PAYLOAD_BYTES), `must have at most ${MAX_PAYLOAD_BYTES} bytes as JSON`)
      .optional()
      .meta({ description: 'any JSON' }),
    id: text(MAX_EVENT_BYTES).optional().meta({
      description: 'identifies the delivery: an event that is delivered twice under one id is stored once',
    }),
  })
  .meta({
    id: 'EventBody',
    examples: [{ event: 'approved', payload: { by: 'ann' }, id: 'click 81' }],
  });
