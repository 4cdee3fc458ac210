/** The defaults in documents that no option or setting tells. */

interface Kept {
  readonly file: string;
  /** As the document writes it. */
  readonly text: string;
  /** A file of sources, and the code in it. */
  readonly source: string;
  readonly code: string;
}

interface Foreign {
  readonly file: string;
  readonly text: string;
  readonly reason: string;
}

const REFERENCE = 'docs/service/reference';
const COMMON = 'apps/common/src/settings';
const WORKER = 'apps/worker/src/config.ts';
const address = {
  text: 'redis://127.0.0.1:6379',
  source: `${COMMON}/redis-settings.ts`,
  code: "DEFAULT_URL = 'redis://127.0.0.1:6379'",
};

/** Defaults that the code has in another place than the schema of settings or the comment of an option. */
export const KEPT: readonly Kept[] = [
  { ...address, file: 'apps/api/README.md' },
  { ...address, file: `${REFERENCE}/api-settings.md`, text: '`redis://127.0.0.1:6379`' },
  { ...address, file: `${REFERENCE}/worker-settings.md`, text: '`redis://127.0.0.1:6379`' },
  {
    file: `${REFERENCE}/api-settings.md`,
    text: 'loopback names, if `HOST` is one; else any',
    source: 'apps/api/src/http/origins.ts',
    code: 'hosts ?? (isLocal ? LOOPBACK : undefined)',
  },
  {
    file: `${REFERENCE}/api-settings.md`,
    text: '`false`',
    source: `${COMMON}/tracing-settings.ts`,
    code: 'env.OTEL_SDK_DISABLED === true',
  },
  {
    file: `${REFERENCE}/api-settings.md`,
    text: '`http/protobuf`',
    source: `${COMMON}/tracing-settings.ts`,
    code: "OTEL_EXPORTER_OTLP_PROTOCOL ?? 'http/protobuf'",
  },
  {
    file: `${REFERENCE}/worker-settings.md`,
    text: '`Fake Game <market@MAIL_DOMAIN>`',
    source: WORKER,
    code: "{ name: 'Fake Game', address: parseMailAddress(`market@${env.MAIL_DOMAIN}`) }",
  },
  {
    file: `${REFERENCE}/worker-settings.md`,
    text: '`mail,market`, and `webhook` with `WEBHOOK_SECRET`',
    source: WORKER,
    code: 'MAIL_QUEUE, MARKET_QUEUE',
  },
  {
    file: `${REFERENCE}/worker-settings.md`,
    text: '`3001`',
    source: 'apps/worker/src/worker.module.ts',
    code: 'DEFAULT_PORT = 3_001',
  },
  {
    file: `${REFERENCE}/worker-settings.md`,
    text: '`ACCESS_LOG_RETENTION_DAYS`',
    source: WORKER,
    code: 'ACCESS_LOG_MAX_AGE_DAYS ?? ',
  },
  {
    file: 'docs/autocomplete/reference/api.md',
    text: '0',
    source: 'packages/autocomplete/src/book/change/book.apply.lua',
    code: 'rank or rankOf(0)',
  },
  {
    file: 'docs/messaging/moderation.md',
    text: '100',
    source: 'packages/messaging/src/mailbox/devices.ts',
    code: 'MAX_DEVICES = 100',
  },
  {
    file: 'docs/messaging/moderation.md',
    text: '10,000',
    source: 'packages/messaging/src/mailbox/blocks.ts',
    code: 'MAX_BLOCKED = 10_000',
  },
  {
    file: 'docs/queues/dashboard.md',
    text: '10,000',
    source: 'packages/queues/src/admin/bulk-request.ts',
    code: 'DEFAULT_LIMIT = 10_000',
  },
  {
    file: 'docs/service/callers.md',
    text: 'a day',
    source: 'apps/api/src/callers/schemas.ts',
    code: '.default(DAY_MS)',
  },
];

/** Defaults of other programs. */
export const FOREIGN: readonly Foreign[] = [
  { file: 'docs/coming-from/bullmq.md', text: '30 s', reason: '`stalledInterval` of BullMQ' },
  { file: 'docs/messaging/comparison.md', text: '2 minutes', reason: 'a peer of the comparison' },
  { file: 'docs/queues/deploys.md', text: '30 s', reason: '`terminationGracePeriodSeconds` of Kubernetes' },
];
