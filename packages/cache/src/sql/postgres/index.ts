export { SqlSourceError } from '../../errors.js';
export type { JsonValue, SqlRow } from '../json-value.js';
export type { OutboxSql } from '../../outbox.js';
export type { SourceOptions } from '../source-options.js';
export type { PostgresOutboxOptions } from './postgres-outbox-sql.js';
export { postgresOutboxSql } from './postgres-outbox-sql.js';
export type { PostgresClient, PostgresPool } from './postgres-pool.js';
export type { PostgresSourceOptions } from './postgres-source.js';
export { PostgresSource } from './postgres-source.js';
