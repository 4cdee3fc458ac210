export type { WebhookTasks } from './webhook-tasks.js';
export { urlRefusal, WEBHOOK_ATTEMPTS, WEBHOOK_QUEUE, WEBHOOK_TASKS } from './webhook-tasks.js';
