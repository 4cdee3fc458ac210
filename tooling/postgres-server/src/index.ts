export { DeadlineError, StartFailedError } from '@mortise/server-process';

export { PostgresNotFoundError } from './errors.js';
export { findPostgres, type FindOptions, type PostgresInstallation } from './installation.js';
export { startPostgres, type PostgresOptions, type PostgresServer } from './server.js';
