/** Requests and responses of the routes of API keys. */
import { z } from 'zod';

import { KEY_ID } from '../api-key.js';
import { cursor, limit, nextCursor } from '../http/page.js';
import { SCOPES } from './scopes.js';

const DAY_MS = 86_400_000;

export const keyId = z.string().regex(KEY_ID, 'must be 1 to 32 of the characters A-Z a-z 0-9 -');

const name = z.string().max(128).meta({ description: 'for people' });
const scopes = z.array(z.enum(SCOPES)).min(1).max(SCOPES.length);
const instant = z.int().meta({ description: 'ms since the epoch' });
const secretText = z.string().meta({ description: 'the key, which is shown only now' });

export const putKeyBody = z
  .strictObject({ name: name.default(''), scopes })
  .meta({ id: 'PutKeyBody', examples: [{ name: 'billing', scopes: ['queues:write'] }] });

export const rotateKeyBody = z
  .strictObject({
    overlapMs: z
      .int()
      .min(0)
      .max(30 * DAY_MS)
      .default(DAY_MS)
      .meta({ description: 'how long the other secrets stay valid' }),
  })
  .meta({ id: 'RotateKeyBody', examples: [{ overlapMs: DAY_MS }] });

const fields = {
  id: z.string().meta({ examples: ['billing'] }),
  name,
  scopes,
  createdAt: instant,
  rotatedAt: instant.nullable(),
  lastUsedAt: instant.nullable().meta({ description: 'up to a minute late; null: never' }),
  secrets: z.int().min(1).meta({ description: 'how many are valid: more than one during an overlap' }),
};

export const apiKeySchema = z.object(fields).meta({ id: 'ApiKey' });

export const shownKeySchema = z
  .object({ ...fields, key: secretText.optional() })
  .meta({ id: 'ShownApiKey', description: 'Of a key that was there already, `key` is absent.' });

export const rotatedKeySchema = z.object({ ...fields, key: secretText }).meta({ id: 'RotatedApiKey' });

export const keysQuery = z.strictObject({ cursor, limit });

export const keysPage = z.object({ items: z.array(apiKeySchema), nextCursor }).meta({ id: 'ApiKeysPage' });
