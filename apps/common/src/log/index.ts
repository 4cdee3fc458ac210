export { createLog, LOG_LEVELS } from './create-log.js';
export type { LogIds } from './log-ids.js';
export { currentLogIds, noteTask, REQUEST_HEADER, taskHeaders, withLogIds } from './log-ids.js';
export { NestLog } from './nest-log.js';
