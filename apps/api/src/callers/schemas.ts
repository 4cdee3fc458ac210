/** Requests and responses of the routes of API keys, tenants, sessions and the audit log. */
import { z } from 'zod';

import { KEY_ID } from '../api-key.js';
import { nameSchema } from '../http/id-schema.js';
import { cursor, limit, nextCursor } from '../http/page.js';
import { MAX_REQUESTS, MAX_SECONDS } from '../rate.js';
import { DEFAULT_TENANT, TENANT_ID } from '../tenants/tenancy.js';
import { QUOTAS } from './tenant-store.js';
import type { QuotaName } from './tenant-store.js';
import { SCOPES } from './scopes.js';

const MAX_QUOTA = 1_000_000_000_000;
const DAY_MS = 86_400_000;

export const keyId = z.string().regex(KEY_ID, 'must be 1 to 32 of the characters A-Z a-z 0-9 -');

export const tenantId = z.string().regex(TENANT_ID, 'must be 1 to 32 of the characters a-z 0-9 -');

const name = z.string().max(128).meta({ description: 'a name for people' });
const subject = nameSchema.nullable().meta({
  description: 'The only member, user or player for whom the key acts. With null it acts for anybody.',
});
const scopes = z.array(z.enum(SCOPES)).min(1).max(SCOPES.length);
const instant = z.int().meta({ description: 'ms since the epoch' });
const secretText = z.string().meta({ description: 'The key. Only this answer shows it.' });

const rate = z
  .strictObject({ requests: z.int().min(1).max(MAX_REQUESTS), seconds: z.int().min(1).max(MAX_SECONDS) })
  .nullable();

const quotas = z
  .strictObject(
    Object.fromEntries(QUOTAS.map((quota) => [quota, z.int().min(0).max(MAX_QUOTA).optional()])) as Record<
      QuotaName,
      z.ZodOptional<z.ZodInt>
    >,
  )
  .meta({
    description:
      'The quotas of the tenant. `streams` and `waits` count for each process; `keys` and `bytes` count in ' +
      'Redis.',
  });

const usage = z.object({
  keys: z.int().min(0).meta({ description: 'the number of its keys in Redis' }),
  bytes: z
    .int()
    .min(0)
    .optional()
    .meta({ description: 'the bytes of these keys; only with a quota of `bytes`' }),
  countedAt: instant,
});

export const putKeyBody = z
  .strictObject({
    name: name.default(''),
    tenant: tenantId
      .default(DEFAULT_TENANT)
      .meta({ description: 'The tenant whose data the key sees. It is fixed once the key is created.' }),
    subject: subject.default(null),
    scopes,
    limit: rate
      .default(null)
      .meta({ description: 'The limit of its requests. With null it is `KEY_LIMIT`.' }),
  })
  .meta({ id: 'PutKeyBody', examples: [{ name: 'billing', tenant: 'acme', scopes: ['queues:write'] }] });

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
  tenant: z.string().meta({ examples: ['acme'] }),
  name,
  subject,
  scopes,
  limit: rate,
  createdAt: instant,
  rotatedAt: instant.nullable(),
  lastUsedAt: instant
    .nullable()
    .meta({ description: 'The last use, up to a minute late. Null before the first use.' }),
  secrets: z
    .int()
    .min(1)
    .meta({ description: 'the number of valid secrets: more than one during an overlap' }),
};

export const apiKeySchema = z.object(fields).meta({ id: 'ApiKey' });

export const shownKeySchema = z
  .object({ ...fields, key: secretText.optional() })
  .meta({ id: 'ShownApiKey', description: 'A key that existed is returned without `key`.' });

export const rotatedKeySchema = z.object({ ...fields, key: secretText }).meta({ id: 'RotatedApiKey' });

export const keysQuery = z.strictObject({ cursor, limit });

export const keysPage = z.object({ items: z.array(apiKeySchema), nextCursor }).meta({ id: 'ApiKeysPage' });

export const putTenantBody = z
  .strictObject({
    name: name.default(''),
    limit: rate
      .default(null)
      .meta({ description: 'The limit of all its requests. With null it is `TENANT_LIMIT`.' }),
    quotas: quotas.default({}),
  })
  .meta({
    id: 'PutTenantBody',
    examples: [{ name: 'Acme Ltd.', limit: { requests: 6_000, seconds: 60 }, quotas: { tasks: 100_000 } }],
  });

export const tenantSchema = z
  .object({
    id: z.string().meta({ examples: ['acme'] }),
    name,
    limit: rate,
    quotas,
    createdAt: instant,
    keys: z.int().min(0).meta({ description: 'the number of its API keys' }),
    usage: usage.nullable().meta({
      description: 'null without a quota of `keys` or `bytes`, before the first count, and without keys',
    }),
  })
  .meta({ id: 'Tenant' });

export const tenantsQuery = z.strictObject({ cursor, limit });

export const tenantsPage = z.object({ items: z.array(tenantSchema), nextCursor }).meta({ id: 'TenantsPage' });

export const sessionSchema = z
  .object({
    keyId: z.string().nullable().meta({ description: 'null for a token, and with AUTH=off' }),
    tenant: z.string(),
    subject,
    scopes: z.array(z.enum(SCOPES)),
    console: z
      .enum(['off', 'read-only', 'on'])
      .meta({ description: 'The setting CONSOLE. With `read-only`, sessions change nothing.' }),
  })
  .meta({ id: 'Session', description: 'The rights of the credential of the request.' });

export const auditQuery = z.strictObject({ cursor, limit });

export const auditPage = z
  .object({
    items: z.array(
      z.object({
        at: instant,
        keyId: z.string().nullable().meta({ description: 'null for a token, and with AUTH=off' }),
        tenant: z.string(),
        subject: z.string().nullable(),
        method: z.string(),
        path: z
          .string()
          .meta({ description: 'the path, without the query', examples: ['/v1/queues/mail/pause'] }),
        status: z.int(),
        requestId: z.string(),
      }),
    ),
    nextCursor,
  })
  .meta({ id: 'AuditPage' });
