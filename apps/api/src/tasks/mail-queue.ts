import { Queue } from '@mortise/queues';

import type { MailTasks } from '../market/index.js';

/** The queue that the worker's mails come from; a class of its own, so that it can be injected by its type. */
export class MailQueue extends Queue<MailTasks> {}
