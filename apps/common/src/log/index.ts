export { createLog, LOG_LEVELS } from './create-log.js';
export { NestLog } from './nest-log.js';
