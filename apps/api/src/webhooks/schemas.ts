import { z } from 'zod';

import { payload } from '../queues/schemas.js';

export const webhookBody = z
  .strictObject({
    url: z
      .string()
      .min(1)
      .meta({ description: 'an `https://` URL of a public address', examples: ['https://example.com/hook'] }),
    type: z
      .string()
      .min(1)
      .max(128)
      .meta({ examples: ['sale.made'] }),
    data: payload,
  })
  .meta({
    id: 'WebhookBody',
    examples: [{ url: 'https://example.com/hook', type: 'sale.made', data: { price: 97 } }],
  });

export const webhookSchema = z
  .object({ queue: z.string().meta({ examples: ['webhook'] }), taskId: z.string() })
  .meta({ id: 'Webhook' });
