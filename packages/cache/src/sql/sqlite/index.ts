export { SqlSourceError } from '../../errors.js';
export type { JsonValue, SqlRow } from '../json-value.js';
export type { OutboxSql } from '../../outbox.js';
export type { SourceOptions } from '../source-options.js';
export type { SqliteDatabase } from './sqlite-connection.js';
export type { SqliteSourceOptions } from './sqlite-source.js';
export { SqliteSource } from './sqlite-source.js';
export type { SqliteOutboxOptions } from './sqlite-outbox.js';
export { sqliteOutboxSql } from './sqlite-outbox.js';
